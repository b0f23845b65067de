import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// Clients that take their time, or take nothing.
@Suite struct SlowClientTests {
    private static let icon = noise(2_000)
    private static let large = noise(3_000_000, seed: 3)
    private static let contents = ["https://a.example/a": icon, "https://a.example/large": large]
    private static let request =
        "GET /icon?url=https://a.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Each is closed without an answer, by the limit that is for it, and others are answered.
    @Test(arguments: [
        ("", false), ("GET /healthz HTTP/1.1\r\nHost: loc", true), ("GET /hea", true),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", false),
    ])
    func halfOpen(_ beginning: String, _ isInHead: Bool) async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.headTimeout = .seconds(isInHead ? 1 : 3_600)
            configuration.idleTimeout = .seconds(isInHead ? 3_600 : 1)
        } _: { fixture in
            let client = try fixture.client()
            client.send(beginning)
            if beginning.hasSuffix("\r\n\r\n") {
                #expect(try client.readResponse().status == 200)
            }
            #expect(try client.isEnded())
            #expect(try fixture.metric("timeouts_total") == 1)
        }
    }

    /// A head that goes on and on is closed, too.
    @Test func slowloris() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.headTimeout = .seconds(1)
        } _: { fixture in
            let client = try fixture.client()
            client.send("GET /healthz HTTP/1.1\r\n")
            var fields = 0
            // Waits for what the server sends, which is nothing until it closes.
            while client.sendUntilBlocked(Array("X: y\r\n".utf8), milliseconds: 1_000) > 0,
                fields < 5_000
            {
                fields += 1
                usleep(100_000)
            }
            #expect(client.readToEnd().isEmpty || fields < 100)
        }
    }

    /// Who takes nothing is closed.
    @Test func stalled() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.stallTimeout = .seconds(2)
        } _: { fixture in
            let stalled = try fixture.client(receiveBuffer: 4_096)
            stalled.send(
                "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            while try fixture.metric("timeouts_total") == 0, ContinuousClock.now < end {}
            #expect(try fixture.metric("timeouts_total") == 1)
            #expect(throws: RawClient.Failure.self) { try stalled.readResponse() }
        }
    }

    /// Nothing waits for bytes that will never come.
    @Test func aFileThatIsCutOffEndsItsConnection() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.stallTimeout = .seconds(3_600)
        } _: { fixture in
            let client = try fixture.client(receiveBuffer: 4_096)
            client.send(
                "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            _ = try client.read(20_000)
            let file = try #require(fixture.files["https://a.example/large"])
            #expect(chmod(file, 0o644) == 0 && truncate(file, 1_000_000) == 0)
            #expect(client.readToEnd().count < Self.large.count)
            #expect(try fixture.client().get("/healthz").status == 200)
        }
    }

    @Test func whatIsNotTakenIsNotCounted() async throws {
        try await withServer(Self.contents) { fixture in
            do {
                let client = try fixture.client(receiveBuffer: 4_096)
                client.send(
                    "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
                _ = try client.read(20_000)
            }
            let client = try fixture.client()
            var (text, sent, before) = ("", 0, 0)
            let end = ContinuousClock.now + .seconds(RawClient.patience)
            repeat {
                let body = try client.get("/metrics").body
                text = String(decoding: body, as: UTF8.self)
                (before, sent) = (sent, sent + body.count)
            } while !text.contains("larder_server_open_connections 1\n")
                && ContinuousClock.now < end
            // Those of the metrics alone.
            #expect(text.contains("larder_server_body_bytes_total \(before)\n"))
        }
    }

    /// Requests that are sent without reading an answer are not read beyond a bound; once the client
    /// reads, each has its answer.
    @Test func pipelining() async throws {
        try await withServer(Self.contents) { configuration, _ in
            // The last head is finished once the answers to the others are read.
            configuration.headTimeout = .seconds(3_600)
        } _: { fixture in
            let client = try fixture.client(receiveBuffer: 32_768)
            // A line's end is one character. Long ones: the sockets' buffers take megabytes.
            let padding = "X: " + String(repeating: "x", count: 1_900) + "\r\n\r\n"
            let request = Array((Self.request.dropLast() + padding).utf8)
            let all = Array(repeatElement(request, count: 10_000).joined())
            let sent = client.sendUntilBlocked(all, milliseconds: 1_000)
            #expect(sent < all.count)
            #expect(try fixture.client().get("/healthz").status == 200)
            let whole = sent / request.count
            #expect(whole > 0)
            for _ in 0..<whole {
                #expect(try client.readResponse().body == Self.icon)
            }
            client.send(Array(request.dropFirst(sent % request.count)))
            #expect(try client.readResponse().body == Self.icon)
        }
    }

    /// More clients than may be there: the others wait, and have their turn.
    @Test func tooMany() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.maximumConnections = 2
        } _: { fixture in
            var clients: [RawClient] = []
            for _ in 0..<2 { clients.append(try fixture.client()) }
            for client in clients { #expect(try client.get("/healthz").status == 200) }
            let third = try fixture.client()
            third.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // It would have been accepted by the time that the others have had so many answers.
            for _ in 0..<200 {
                let text = String(
                    decoding: try clients[0].get("/metrics").body, as: UTF8.self)
                try #require(text.contains("larder_server_connections_total 2\n"))
                try #require(try clients[1].get("/healthz").status == 200)
            }
            clients.removeFirst()
            #expect(try third.readResponse().status == 200)
            // And idle ones make room.
            let fourth = try fixture.client()
            #expect(try fourth.get("/healthz").status == 200)
        }
    }

    /// The whole object comes, although it is gone from the cache by then.
    @Test func evictedMeanwhile() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client(receiveBuffer: 4_096)
            client.send(
                "GET /icon?url=https://a.example/large HTTP/1.1\r\nHost: localhost\r\n\r\n")
            try client.waitForBytes()
            let file = try #require(fixture.files["https://a.example/large"])
            #expect(unlink(file) == 0)
            #expect(try client.readResponse().body == Self.large)
        }
    }
}
