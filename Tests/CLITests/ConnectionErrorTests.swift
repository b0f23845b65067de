import LarderTestSupport
import LarderTestTLS
import Testing

/// Servers that cannot be reached or trusted. Icons of another server are still fetched.
@Suite struct ConnectionErrorTests {
    @Test func anUnresolvableHostNameIsReported() async throws {
        // RFC 6761, section 6.4: names in .invalid never resolve.
        try await expectFailure(of: "http://larder.invalid/a.png", "name-not-resolved")
    }

    @Test func aRefusedConnectionIsReported() async throws {
        let port = try Origin.refusedPort()
        try await expectFailure(
            of: "http://127.0.0.1:\(port)/a.png", "connection-refused",
            says: [
                "127.0.0.1 port \(port)",
                "; check the port in the URL, and that the server is running",
            ])
    }

    @Test func aServerThatNeverAcceptsCausesAConnectTimeout() async throws {
        let hole = try BlackHole()
        try await expectFailure(
            of: "http://127.0.0.1:\(hole.port)/a.png", "connect-timeout",
            options: ["--connect-timeout", "1s"])
    }

    @Test func aStalledTransferIsReported() async throws {
        let slow = try Origin(replies: ["/a": .ok(Icons.png).stalling(after: 10)])
        try await expectFailure(of: slow.url("/a"), "stalled", options: ["--stall-timeout", "1s"])
    }

    /// Data arrives all the time, but fewer than 100 bytes a second.
    @Test func aTransferOfOneByteASecondCountsAsStalled() async throws {
        let slow = try Origin(replies: ["/a": .ok(Icons.png).trickled(1, every: 1)])
        try await expectFailure(of: slow.url("/a"), "stalled", options: ["--stall-timeout", "2s"])
    }

    @Test func aTransferThatTakesTooLongTimesOut() async throws {
        let slow = try Origin(replies: ["/a": .ok(Icons.png).trickled(1, every: 0.01)])
        try await expectFailure(of: slow.url("/a"), "timeout", options: ["--timeout", "1s"])
    }

    /// `--ca-cert` names the authority that issued the last two certificates.
    @Test(arguments: [.selfSigned, .wrongName, .expired] as [TestCertificates.Kind])
    func aCertificateThatDoesNotVerifyIsRejected(_ kind: TestCertificates.Kind) async throws {
        let origin = try Origin(replies: ["/a": Icons.reply(1)])
        let front = try TLSFront(originPort: origin.port, certificate: kind)
        try await expectFailure(
            of: front.url("/a"), "certificate",
            options: ["--ca-cert", TestCertificates.authorityPath])
        #expect(origin.count() == 0)
    }

    @Test func aCertificateOfAnUnknownAuthorityIsRejected() async throws {
        let origin = try Origin(replies: ["/a": Icons.reply(1)])
        let front = try TLSFront(originPort: origin.port)
        try await expectFailure(of: front.url("/a"), "certificate")
        #expect(origin.count() == 0)
    }

    @Test func aCertificateOfANamedAuthorityIsAccepted() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            let front = try TLSFront(originPort: larder.origin.port)
            let run = try larder.prefetch(
                try larder.manifest(front.url("/a")),
                options: ["--ca-cert", TestCertificates.authorityPath])
            #expect(run.outcomes == ["fetched"], "\(run.finished)")
            #expect(try larder.cat(front.url("/a")) == Icons.icon(1))
        }
    }

    @Test func aRedirectFromHTTPSToHTTPIsRefused() async throws {
        let origin = try Origin(replies: ["/b": Icons.reply(1)])
        origin.on("/a", .redirect(to: origin.url("/b")))
        let front = try TLSFront(originPort: origin.port)
        try await expectFailure(
            of: front.url("/a"), "redirect-refused",
            options: ["--ca-cert", TestCertificates.authorityPath])
        #expect(origin.count("/b") == 0)
    }

    @Test(arguments: [
        "127.0.0.1", "localhost", "[::1]", "2130706433", "0x7f.1", "0177.0.0.1",
        "[::ffff:127.0.0.1]",
    ])
    func aPrivateAddressIsRefusedByDefault(_ host: String) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a", host: host)
            larder.origin.on("/a", Icons.reply(1))
            let finished = try larder.run("prefetch", try larder.manifest(url))
            #expect(finished.status == 2)
            #expect(finished.standardError.contains("address-refused: "), "\(finished)")
            #expect(finished.standardError.contains("--allow-private-network"))
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    private func expectFailure(
        of url: String, _ code: String, options: [String] = [], says parts: [String] = []
    ) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(url, larder.origin.serveIcons(1)[0])
            let run = try larder.prefetch(manifest, options: ["--attempts", "1"] + options)
            #expect(run.status == 2)
            #expect(run.outcomes == ["failed", "fetched"], "\(run.finished)")
            let error = try #require(try run.line(1).error)
            #expect(error.code == code, "\(run.finished)")
            for part in parts { #expect(error.message.contains(part), "\(error)") }
            #expect(
                run.finished.standardError.contains("entry 1 App 1: \(url) \(code): "),
                "\(run.finished)")
        }
    }
}
