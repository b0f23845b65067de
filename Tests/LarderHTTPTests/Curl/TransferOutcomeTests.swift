import LarderCore
import LarderHTTP
import LarderTestSupport
import LarderTestTLS
import Testing

/// The error code of every kind of failure. Each error has the URL and a message.
@Suite(.timeLimit(.minutes(30))) struct TransferOutcomeTests {
    let origin: Origin
    static let body = String(repeating: "0123456789", count: 10_000)

    init() throws {
        CurlHosts.install()
        origin = try Origin()
    }

    /// Fetches `/x`, for which the origin sends `reply`, and returns the error.
    private func failure(
        of reply: Reply, maximumBodyBytes: Int64 = 16 << 20,
        configure: (inout TransferConfiguration) -> Void = { _ in }
    ) async throws -> TransferError? {
        origin.on("/x", reply)
        return try await failure(
            at: origin.url("/x"), maximumBodyBytes: maximumBodyBytes, configure: configure)
    }

    private func failure(
        at url: String, maximumBodyBytes: Int64 = 16 << 20,
        configure: (inout TransferConfiguration) -> Void = { _ in }
    ) async throws -> TransferError? {
        var error: TransferError?
        try await withClient(configure) { client in
            error = await (try client.fetch(url, maximumBodyBytes: maximumBodyBytes)).error()
        }
        if let error {
            #expect(error.url == (try HTTPURL(url)))
            #expect(!error.message.isEmpty)
        }
        return error
    }

    // MARK: No connection

    @Test func anUnresolvableNameFails() async throws {
        // A label of more than 63 bytes fails without a resolver.
        let label = String(repeating: "a", count: 70)
        let error = try await failure(at: "http://\(label).invalid/")
        #expect(error?.code == .nameNotResolved)
        #expect(error?.message.contains(label) == true)
    }

    @Test func aNonASCIINameIsLookedUp() async throws {
        // Without a resolver that answers, the attempt to connect times out.
        let error = try #require(
            try await failure(at: "http://bücher.invalid/") { $0.connectTimeout = .seconds(2) })
        #expect([.nameNotResolved, .connectTimeout].contains(error.code))
    }

    @Test func aRefusedConnectionFails() async throws {
        let error = try await failure(at: "http://127.0.0.1:\(Origin.refusedPort())/")
        #expect(error?.code == .connectionRefused)
        #expect(error?.message.contains("127.0.0.1") == true)
    }

    @Test func anUnansweredConnectionTimesOut() async throws {
        let hole = try BlackHole()
        let error = try await failure(at: hole.url("/")) {
            $0.connectTimeout = .milliseconds(200)
        }
        #expect(error?.code == .connectTimeout)
    }

    @Test(arguments: ["127.0.0.1", "localhost", "2130706433", "0x7f.1", "[::ffff:127.0.0.1]"])
    func aRefusedAddressFailsWithoutAConnection(_ host: String) async throws {
        let error = try await failure(at: origin.url("/x", host: host)) {
            $0.addressPolicy = .publicOnly
        }
        #expect(error?.code == .addressRefused)
        #expect(error?.message.contains("loopback") == true)
        #expect(error?.message.contains("--allow-private-network") == true)
        #expect(origin.connectionsOpened == 0)
    }

    // MARK: TLS

    @Test(arguments: [TestCertificates.Kind.selfSigned, .wrongName, .expired])
    func aCertificateThatDoesNotVerifyFails(_ kind: TestCertificates.Kind) async throws {
        let front = try TLSFront(originPort: origin.port, certificate: kind)
        defer { front.stop() }
        let error = try await failure(at: front.url("/x")) {
            $0.certificateAuthorities = TestCertificates.authorityPath
        }
        #expect(error?.code == .certificate)
        #expect(front.requestCount == 0)
    }

    @Test func anUnknownCertificateAuthorityFails() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        #expect(try await failure(at: front.url("/x"))?.code == .certificate)
    }

    @Test func anUnansweredTLSHandshakeTimesOut() async throws {
        // The origin waits for the end of a request head.
        let url = origin.url("/x").replacing("http:", with: "https:")
        let error = try await failure(at: url) { $0.connectTimeout = .milliseconds(300) }
        #expect(error?.code == .connectTimeout)
    }

    // MARK: Timeouts

    @Test func anUnansweredRequestTimesOut() async throws {
        let gate = try Gate()
        let error = try await failure(of: Reply.ok("").heldBy(gate)) {
            $0.totalTimeout = .milliseconds(300)
        }
        #expect(error?.code == .timeout)
    }

    @Test func aSlowBodyTimesOut() async throws {
        let reply = Reply.endless([1, 2, 3]).trickled(3, every: 0.01)
        let error = try await failure(of: reply) { $0.totalTimeout = .milliseconds(300) }
        #expect(error?.code == .timeout)
    }

    @Test(arguments: [true, false]) func aStalledTransferFails(sendsHead: Bool) async throws {
        let gate = try Gate()
        let reply = sendsHead ? Reply.ok(Self.body).stalling(after: 10) : Reply.ok("").heldBy(gate)
        let error = try await failure(of: reply) {
            $0.stallTimeout = .milliseconds(500)
            $0.totalTimeout = .seconds(30)
        }
        #expect(error?.code == .stalled)
    }

    // MARK: Broken responses

    @Test func aTruncatedBodyFails() async throws {
        let error = try await failure(of: Reply.ok(Self.body).cut(after: 5_000))
        #expect(error?.code == .bodyTruncated)
    }

    @Test func truncatedChunksFail() async throws {
        let reply = Reply.ok(Self.body).chunked([1_000, 1_000]).cut(after: 1_500)
        #expect(try await failure(of: reply)?.code == .bodyTruncated)
    }

    @Test func aConnectionResetDuringTheBodyFails() async throws {
        let error = try await failure(of: Reply.ok(Self.body).reset(after: 5_000))
        #expect(error?.code == .connectionLost)
    }

    @Test func anEmptyReplyFails() async throws {
        #expect(try await failure(of: .raw(""))?.code == .connectionLost)
    }

    @Test func anHTTP2StreamResetFails() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        front.resetStream(path: "/x")
        let error = try await failure(at: front.url("/x")) {
            $0.certificateAuthorities = TestCertificates.authorityPath
        }
        #expect(error?.code == .connectionLost)
    }

    @Test(arguments: [
        "garbage\r\n\r\n", "\u{1}\u{2}\u{3}", "<html>HTTP</html>",
        "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n", "HTTP/1.1 2000 OK\r\n\r\n",
    ])
    func aMalformedResponseFails(_ text: String) async throws {
        #expect(try await failure(of: .raw(text))?.code == .malformedResponse)
    }

    @Test func anInvalidGzipBodyFails() async throws {
        let reply = Reply.ok("no gzip at all").header("Content-Encoding", "gzip")
        #expect(try await failure(of: reply)?.code == .malformedResponse)
    }

    @Test func aTooLargeHeadFails() async throws {
        let reply = Reply.ok("x").hugeHeaders(count: 100, bytes: 1_000)
        #expect(try await failure(of: reply)?.code == .headersTooLarge)
        #expect(try await failure(of: reply) { $0.maximumHeaderBytes = 200_000 } == nil)
    }

    @Test func tooManyHeaderFieldsFail() async throws {
        let error = try await failure(of: Reply.ok("x").hugeHeaders(count: 300, bytes: 10))
        #expect(error?.code == .headersTooLarge)
        #expect(error?.message.contains("256 fields") == true)
        #expect(try await failure(of: Reply.ok("x").hugeHeaders(count: 240, bytes: 10)) == nil)
    }

    @Test(arguments: [70_000, 300_000]) func aTooLongHeaderFieldFails(_ bytes: Int) async throws {
        let reply = Reply.ok("x").hugeHeaders(count: 1, bytes: bytes)
        #expect(try await failure(of: reply)?.code == .headersTooLarge)
    }

    @Test(arguments: [10_000, 70_000, 300_000]) func aTooLongTrailerFails(
        _ bytes: Int
    ) async throws {
        let trailer = "X: " + String(repeating: "x", count: bytes)
        let reply = Reply.raw(
            "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\(trailer)\r\n\r\n"
        )
        #expect(try await failure(of: reply)?.code == .headersTooLarge)
    }

    // MARK: Other

    @Test func anErrorDoesNotShowCredentials() async throws {
        let port = try Origin.refusedPort()
        let error = try #require(try await failure(at: "http://me:secret@127.0.0.1:\(port)/"))
        #expect(!"\(error)".contains("secret"))
        #expect("\(error)".contains("***@127.0.0.1"))
    }

    @Test func aFileWithoutACertificateAuthorityFails() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        let error = try await failure(at: front.url("/x")) {
            $0.certificateAuthorities = "/dev/null"
        }
        #expect(error?.code == .tls)
    }
}
