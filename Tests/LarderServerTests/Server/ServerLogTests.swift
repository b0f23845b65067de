import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// The log messages for the operator of a server.
@Suite struct ServerLogTests {
    /// Runs a server and returns its log lines.
    private func log(
        _ contents: [String: [UInt8]] = [:],
        configure: (inout ServerConfiguration) -> Void = { _ in },
        _ body:
            @escaping @Sendable (ServerFixture, @escaping @Sendable () -> [String]) throws ->
            Void
    ) async throws -> [String] {
        let log = CollectedLog()
        try await withServer(contents) { configuration, _ in
            configuration.logger = log.logger
            configure(&configuration)
        } _: {
            try body($0) { log.lines }
        }
        return log.lines
    }

    @Test func connectionsAndRefusedRequestsAreLogged() async throws {
        let lines = try await log { fixture, _ in
            let client = try fixture.client()
            #expect(try client.get("/healthz").status == 200)
            #expect(try client.get("/nothing?token=sEcReT&size=1").status == 404)
        }
        #expect(lines.contains("debug connection opened client=127.0.0.1"))
        #expect(lines.contains { $0.hasPrefix("debug connection closed") })
        #expect(lines.contains("info request refused status=404 target=/nothing?token=***&size=1"))
        #expect(!lines.joined().contains("sEcReT"))
    }

    @Test func slowClientsAreLogged() async throws {
        let lines = try await log {
            $0.headTimeout = .seconds(1)
        } _: { fixture, _ in
            let client = try fixture.client()
            client.send("GET /hea")
            #expect(try client.isEnded())
        }
        #expect(lines.contains("info slow client client=127.0.0.1 reason=slow head"))
    }

    @Test func reachingTheLimitOfConnectionsIsLogged() async throws {
        let lines = try await log {
            $0.maximumConnections = 1
        } _: { fixture, _ in
            let client = try fixture.client()
            #expect(try client.get("/healthz").status == 200)
        }
        #expect(lines.contains("warning connection limit reached connections=1"))
    }

    @Test func damagedObjectsAndNewGalleriesAreLogged() async throws {
        let url = "http://a.example/1.png"
        let lines = try await log([url: noise(100)]) { fixture, lines in
            let client = try fixture.client()
            while !lines().contains(where: { $0.hasPrefix("info gallery built") }) {
                #expect(try client.get("/gallery/icons.js").status == 200)
            }
            let file = try #require(fixture.files[url])
            chmod(file, 0o644)
            try Data(noise(100, seed: 2)).write(to: URL(fileURLWithPath: file))
            #expect(try client.get("/icon?url=\(url)").status == 500)
        }
        #expect(lines.contains { $0.hasPrefix("warning sha256:") && $0.contains("--repair") })
    }

    @Test func aReplacedCacheIsLogged() async throws {
        let lines = try await log(["http://a.example/1": noise(100)]) { fixture, lines in
            let other = fixture.directory.path("other")
            try ServerFixture.fill(other, with: ["http://a.example/2": noise(200)])
            #expect(rename(fixture.cache, fixture.directory.path("gone")) == 0)
            #expect(rename(other, fixture.cache) == 0)
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            while !lines().contains("info cache reopened"), ContinuousClock.now < end {
                #expect(try fixture.client().get("/healthz").status == 200)
            }
        }
        #expect(lines.contains("info cache reopened"))
    }
}
