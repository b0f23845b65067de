import LarderTestSupport
import NIOCore
import Testing

@testable import LarderServer

/// Requests for an upgrade, and requests in later minor versions of HTTP/1.
@Suite struct HeadRewriterTests {
    private static let contents = ["https://a.example/a": noise(2_000)]

    /// Returns the pieces after they were rewritten.
    private func rewritten(_ pieces: [[UInt8]]) -> String {
        let rewriter = HeadRewriter()
        let bytes = pieces.flatMap { piece in
            var buffer = ByteBuffer(bytes: piece)
            rewriter.rewrite(&buffer)
            return Array(buffer.readableBytesView)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    @Test(arguments: [
        ("GET / HTTP/1.2\r\nHost: a\r\n\r\n", "GET / HTTP/1.1\r\nHost: a\r\n\r\n"),
        ("\r\nGET / HTTP/1.9\r\n\r\n", "\r\nGET / HTTP/1.1\r\n\r\n"),
        ("GET / HTTP/1.0\r\n\r\n", "GET / HTTP/1.0\r\n\r\n"),
        ("GET / HTTP/2.2\r\n\r\n", "GET / HTTP/2.2\r\n\r\n"),
        ("GET /HTTP/1.2 HTTP/1.3\r\n\r\n", "GET /HTTP/1.2 HTTP/1.1\r\n\r\n"),
        ("GET /  HTTP/1.3\r\n\r\n", "GET /  HTTP/1.1\r\n\r\n"),
        ("GET / HTTP/1.1\r\nA:  HTTP/1.2\r\n\r\n", "GET / HTTP/1.1\r\nA:  HTTP/1.2\r\n\r\n"),
        ("GET / HTTP/1.1\r\nUPGRADE: h2c\r\n\r\n", "GET / HTTP/1.1\r\nUPGRADx: h2c\r\n\r\n"),
        (
            "GET / HTTP/1.1\r\nA: upgrade\r\nupgrade:a\r\nB: upgrade\r\n\r\nGET /upgrade HTTP/1.4\r\n",
            "GET / HTTP/1.1\r\nA: upgrade\r\nupgradx:a\r\nB: upgrade\r\n\r\nGET /upgrade HTTP/1.1\r\n"
        ),
        ("upgrade / HTTP/1.1\r\n up\r\nUp: e\r\n", "upgrade / HTTP/1.1\r\n up\r\nUp: e\r\n"),
        (
            "GET /é/e?ü HTTP/1.3\r\nA: é\r\n\r\nGET /è HTTP/1.1\r\n",
            "GET /%C3%A9/e?%C3%BC HTTP/1.1\r\nA: é\r\n\r\nGET /%C3%A8 HTTP/1.1\r\n"
        ),
    ])
    func onlyUpgradesMinorVersionsAndNonASCIITargetsAreRewritten(_ text: String, _ expected: String)
    {
        #expect(rewritten([Array(text.utf8)]) == expected)
        #expect(rewritten(text.utf8.map { [$0] }) == expected)
        for split in 1..<text.utf8.count {
            let parts = [Array(text.utf8.prefix(split)), Array(text.utf8.dropFirst(split))]
            #expect(rewritten(parts) == expected)
        }
    }

    @Test(arguments: ["websocket", "h2c", "TLS/1.0, HTTP/2.0"])
    func upgradesAreIgnoredAndTheConnectionStaysOpen(_ name: String) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            let fields = [
                "Connection: Upgrade, HTTP2-Settings", "Upgrade: \(name)", "HTTP2-Settings: AAMA",
            ]
            for _ in 0..<3 {
                let response = try client.get("/icon?url=https://a.example/a", fields)
                #expect(response.status == 200 && response.body == Self.contents.values.first)
                #expect(response.fields["connection"] == nil)
                #expect(response.fields["upgrade"] == nil)
            }
            // Two pipelined requests, byte by byte.
            let lines = ["GET /healthz HTTP/1.1", "Host: localhost"] + fields
            let request = lines.joined(separator: "\r\n") + "\r\n\r\n"
            for byte in (request + request).utf8 { client.send([byte]) }
            #expect(try client.readResponse().status == 200)
            #expect(try client.readResponse().status == 200)
            let last = try client.get("/healthz", ["Connection: close"])
            #expect(last.fields["connection"] == "close")
            #expect(try client.isEnded())
        }
    }

    @Test(arguments: 2...9) func laterMinorVersionsAreServedAsHTTP11(_ minor: Int) async throws {
        try await withServer(Self.contents) { fixture in
            let client = try fixture.client()
            for _ in 0..<2 {
                client.send("GET /healthz HTTP/1.\(minor)\r\nHost: localhost\r\n\r\n")
                #expect(try client.readResponse().status == 200)
            }
            client.send("GET /healthz HTTP/1.\(minor)\r\n\r\n")
            #expect(try client.readResponse().status == 400)
        }
    }
}
