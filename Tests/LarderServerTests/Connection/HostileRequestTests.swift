import LarderServer
import LarderTestSupport
import Testing

/// Requests that are malformed, or that two servers would parse differently.
@Suite struct HostileRequestTests {
    private static let contents = ["https://a.example/a": noise(2_000)]

    @Test(
        arguments: [
            // Ambiguous body lengths, which could smuggle a second request.
            (
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                [400, 405]
            ),
            (
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
                [400]
            ),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: +5\r\n\r\nhello", [400]),
            (
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: x, chunked\r\n\r\nzz\r\n",
                [400, 413]
            ),
            (
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
                [400, 413]
            ),
            (
                "GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 30\r\n\r\nGET /metrics HTTP/1.1\r\n\r\n",
                [413]
            ),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\n Folded: x\r\n\r\n", [400]),
            ("GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n", [400]),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: a\u{0}b\r\n\r\n", [400]),
            // Missing, repeated and invalid hosts.
            ("GET /healthz HTTP/1.1\r\n\r\n", [400]),
            ("GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n", [400]),
            ("GET /healthz HTTP/1.1\r\nHost: a\"><script>\r\n\r\n", [400]),
            ("GET /healthz HTTP/1.1\r\nHost:\r\n\r\n", [400]),
            // The same in requests whose target contains a host.
            ("GET http://localhost/healthz HTTP/1.1\r\n\r\n", [400]),
            (
                "GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\nHost: localhost\r\n\r\n",
                [400]
            ),
            ("GET http://localhost/healthz HTTP/1.1\r\nHost: a b@\r\n\r\n", [400]),
            // Not HTTP/1 requests.
            ("\u{16}\u{3}\u{1}\r\n\r\n", [400, 501]),
            ("GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n", [400, 505]),
            ("GET /healthz\r\n\r\n", [400, 505]),
            ("FROBNICATE / HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 501]),
            ("GET  HTTP/1.1\r\nHost: localhost\r\n\r\n", [400, 505]),
        ] as [(String, [Int])])
    func malformedRequestsAreRefused(_ request: String, _ statuses: [Int]) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            client.send(request)
            let response = try client.readResponse()
            #expect(statuses.contains(response.status), "\(response.status)")
            // Bytes after it are not read as a request.
            client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            #expect(client.readToEnd() == [])
            #expect(try fixture.client().get("/healthz").status == 200)
        }
    }

    @Test(arguments: ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "PATCH"])
    func methodsOtherThanGETAndHEADAreRefused(_ method: String) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let response = try client.get("/icon?url=https://a.example/a", method: method)
            #expect(response.status == 405)
            #expect(response.fields["allow"] == "GET, HEAD")
            // The connection stays open because the request has no body.
            #expect(try client.get("/healthz").status == 200)
        }
    }

    @Test func longTargetsAreRefused() async throws {
        try await withServer(Self.contents) { fixture in
            func status(_ count: Int) throws -> Int {
                let target = "/icon?url=" + String(repeating: "a", count: count - 10)
                return try fixture.client().get(target).status
            }
            let statuses = try [8_000, 16_384, 16_385, 40_000].map(status)
            #expect(statuses == [404, 400, 414, 431])
        }
    }

    /// The server refuses such a head before it is complete.
    @Test(arguments: [
        "X: " + String(repeating: "a", count: 100_000),
        (0..<200).map { "X\($0): a" }.joined(separator: "\r\n"),
        (0..<90).map { "X\($0): " + String(repeating: "a", count: 1_000) }
            .joined(separator: "\r\n"),
    ])
    func longHeadsAreRefused(_ fields: String) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            client.send("GET /healthz HTTP/1.1\r\nHost: localhost\r\n\(fields)\r\n")
            #expect(try client.readResponse().status == 431)
            #expect(client.readToEnd() == [])
        }
    }

    @Test func aHeadThatArrivesByteByByteIsServed() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            for byte in "GET /icon?url=https://a.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8
            {
                client.send([byte])
            }
            #expect(try client.readResponse().body == noise(2_000))
        }
    }

    @Test func clientsOfHTTP10AreServed() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            client.send("GET /healthz HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")
            let first = try client.readResponse()
            #expect(first.status == 200 && first.fields["connection"] == "keep-alive")
            client.send("GET /healthz HTTP/1.0\r\n\r\n")
            let second = try client.readResponse()
            #expect(second.status == 200 && second.fields["connection"] == "close")
            #expect(try client.isEnded())
        }
    }

    @Test func aClientThatClosesItsSendingSideGetsItsResponses() async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let request = "GET /icon?url=https://a.example/a HTTP/1.1\r\nHost: localhost\r\n\r\n"
            client.send(request + request)
            client.endSending()
            #expect(try client.readResponse().body == noise(2_000))
            #expect(try client.readResponse().body == noise(2_000))
            #expect(try client.isEnded())
        }
    }
}
