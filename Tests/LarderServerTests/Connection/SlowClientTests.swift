import Foundation
import LarderServer
import LarderTestSupport
import Testing

/// Clients that send or receive slowly, or not at all.
@Suite struct SlowClientTests {
    private static let icon = noise(2_000)
    private static let large = noise(3_000_000, seed: 3)
    private static let contents = ["https://a.example/a": icon, "https://a.example/large": large]
    private static let request =
        "GET /icon?url=https://a.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n"

    /// Only the timeout that applies is short: that of heads, or that of idle connections.
    @Test(arguments: [
        ("", false), ("GET /healthz HTTP/1.1\r\nHost: loc", true), ("GET /hea", true),
        ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", false),
    ])
    func slowHeadsAndIdleConnectionsTimeOut(_ beginning: String, _ isInHead: Bool) async throws {
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

    @Test func aHeadThatNeverEndsTimesOut() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.headTimeout = .seconds(1)
        } _: { fixture in
            let client = try fixture.client()
            client.send("GET /healthz HTTP/1.1\r\n")
            var fields = 0
            // The server sends nothing until it closes the connection.
            while client.sendUntilBlocked(Array("X: y\r\n".utf8), milliseconds: 1_000) > 0,
                fields < 5_000
            {
                fields += 1
                usleep(100_000)
            }
            #expect(client.readToEnd().isEmpty || fields < 100)
        }
    }

    @Test func aClientThatReadsNothingTimesOut() async throws {
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

    @Test func aTruncatedFileEndsTheConnection() async throws {
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

    @Test func unreadBodiesAreNotCounted() async throws {
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
            // Only the bytes of the earlier responses of `/metrics` are counted.
            #expect(text.contains("larder_server_body_bytes_total \(before)\n"))
        }
    }

    /// The server reads a limited number of requests while the client reads no responses. Each request
    /// gets its response once the client reads.
    @Test func pipelinedRequestsAreReadUpToALimit() async throws {
        try await withServer(Self.contents) { configuration, _ in
            // The last head is completed only after the other responses are read, which takes
            // minutes with a sanitizer.
            configuration.headTimeout = .seconds(3_600)
            configuration.stallTimeout = .seconds(3_600)
        } _: { fixture in
            let client = try fixture.client(receiveBuffer: 32_768)
            // `dropLast` removes a whole line end, because "\r\n" is one character. The heads are long
            // because the sockets buffer megabytes.
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

    /// Further connections wait until one leaves.
    @Test func theNumberOfConnectionsIsLimited() async throws {
        try await withServer(Self.contents) { configuration, _ in
            configuration.maximumConnections = 2
        } _: { fixture in
            var clients: [RawClient] = []
            for _ in 0..<2 { clients.append(try fixture.client()) }
            for client in clients { #expect(try client.get("/healthz").status == 200) }
            let third = try fixture.client()
            third.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            // Without the limit, it would be accepted during these requests.
            for _ in 0..<200 {
                let text = String(
                    decoding: try clients[0].get("/metrics").body, as: UTF8.self)
                try #require(text.contains("larder_server_connections_total 2\n"))
                try #require(try clients[1].get("/healthz").status == 200)
            }
            clients.removeFirst()
            #expect(try third.readResponse().status == 200)
            // Idle connections are closed to make room.
            let fourth = try fixture.client()
            #expect(try fourth.get("/healthz").status == 200)
        }
    }

    @Test func anObjectEvictedDuringItsResponseIsSentCompletely() async throws {
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
