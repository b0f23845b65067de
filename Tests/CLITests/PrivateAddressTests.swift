import LarderTestSupport
import LarderTestTLS
import Testing

/// The refusal of private addresses in manifests, name resolution and redirects.
@Suite struct PrivateAddressTests {
    /// Notations of the loopback address and of other private addresses.
    static let hosts = [
        "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1",
        "017700000001", "127.0.0.1.", "１２７。0。0。1", "0", "0.0.0.0", "localhost", "LocalHost.",
        "a.localhost", "[::1]", "[0:0:0:0:0:0:0:1]", "[::1%25lo]", "[::]", "[::ffff:127.0.0.1]",
        "[::ffff:7f00:1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[2002:7f00:1::]",
        "[fe80::1%25eth0]", "10.0.0.1", "192.168.1.1", "[fd12::1]", "169.254.169.254",
        "[fd00:ec2::254]", "100.100.100.200", "168.63.129.16",
    ]

    /// A proxy could reach the addresses.
    @Test(arguments: [false, true])
    func literalPrivateAddressesAreRefused(behindAProxy: Bool) async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let proxy = try ForwardProxy()
            let urls = Self.hosts.enumerated().map { larder.origin.url("/\($0)", host: $1) }
            let run = try larder.prefetchGuarded(
                try larder.manifest(urls: urls), behindAProxy ? ["--proxy", proxy.url()] : [])
            #expect(run.status == 2)
            // A URL cannot contain an address with a zone.
            #expect(
                run.summary.failures == ["address-refused": urls.count - 2, "unparsable-url": 2])
            for line in run.lines where line.error?.code == "address-refused" {
                let message = line.error?.message ?? ""
                #expect(message.contains("--allow-private-network or --allow-host "), "\(line)")
                #expect(message.contains(" is a"), "\(line)")
            }
            #expect(larder.origin.connectionsOpened == 0)
            #expect(proxy.requests.isEmpty)
        }
    }

    /// 2d00::1 is not assigned. It may be tried, but the loopback address may not.
    @Test(arguments: ["127.0.0.1", "[::1],127.0.0.1", "127.0.0.1,[2d00::1]", "[2d00::1],127.0.0.1"])
    func aNameThatResolvesToAPrivateAddressIsRefused(_ addresses: String) async throws {
        try await withFixture { larder in
            let name = "rebinding.example"
            larder.origin.onAny { _ in Icons.reply(1) }
            let run = try larder.prefetchGuarded(
                try larder.manifest(larder.origin.url("/a", host: name)),
                [
                    "--resolve", "\(name):\(larder.origin.port):\(addresses)",
                    "--connect-timeout", "1s",
                ])
            #expect(run.outcomes == ["failed"])
            if !addresses.contains("2d00") {
                #expect(run.summary.failures == ["address-refused": 1], "\(run.finished)")
                #expect(run.lines[0].error?.message.contains("loopback") == true)
            }
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    /// Only the host that redirects is allowed by name.
    @Test(arguments: ["127.0.0.1", "[::1]", "2130706433", "localhost", "private.example"])
    func aRedirectToAPrivateAddressIsRefused(_ host: String) async throws {
        try await withFixture { larder in
            let privateOrigin = try Origin()
            privateOrigin.onAny { _ in Icons.reply(1) }
            larder.origin.on("/a", .redirect(to: privateOrigin.url("/secret", host: host)))
            let run = try larder.prefetchGuarded(
                try larder.manifest(larder.origin.url("/a", host: "public.example")),
                [
                    "--resolve", "public.example:\(larder.origin.port):127.0.0.1",
                    "--resolve", "private.example:\(privateOrigin.port):127.0.0.1",
                    "--allow-host", "public.example",
                ])
            #expect(run.summary.failures == ["address-refused": 1], "\(run.finished)")
            #expect(larder.origin.count("/a") == 1)
            #expect(privateOrigin.connectionsOpened == 0)
        }
    }

    @Test(arguments: ["file", "gopher", "ftp", "FTP", "dict", "ldap", "data", "javascript"])
    func aRedirectToAnotherSchemeIsRefused(_ scheme: String) async throws {
        try await withFixture { larder in
            let privateOrigin = try Origin()
            larder.origin.on(
                "/a", .redirect(to: "\(scheme)://127.0.0.1:\(privateOrigin.port)/etc/passwd"))
            let run = try larder.prefetchGuarded(
                try larder.manifest(larder.origin.url("/a")), ["--allow-private-network"])
            let problem = run.lines[0].error
            #expect(problem?.code == "redirect-refused")
            #expect(problem?.message == "redirected to the scheme \(scheme.lowercased())")
            #expect(privateOrigin.connectionsOpened == 0)
        }
    }

    @Test func allowHostAllowsOnlyTheNamedHost() async throws {
        try await withFixture { larder in
            let urls = ["localhost", "127.0.0.1"].map { larder.origin.url("/a", host: $0) }
            larder.origin.on("/a", Icons.reply(1))
            let manifest = try larder.manifest(urls: urls)
            let port = larder.origin.port
            for (host, outcomes) in [
                ("localhost:\(port &+ 1)", ["failed", "failed"]),
                ("LOCALHOST:\(port)", ["fetched", "failed"]),
                ("127.1", ["cached", "fetched"]),
            ] {
                let run = try larder.prefetchGuarded(manifest, ["--allow-host", host])
                #expect(run.outcomes == outcomes, "\(host)")
            }
        }
    }

    /// Redirects from https to http need `--allow-downgrade`.
    @Test func aDowngradeIsRefused() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/b", Icons.reply(1))
            origin.on("/a", .redirect(to: origin.url("/b")))
            let front = try TLSFront(originPort: origin.port)
            let manifest = try larder.manifest(front.url("/a"))
            let options = [
                "--allow-private-network", "--ca-cert", TestCertificates.authorityPath,
            ]
            let refused = try larder.prefetchGuarded(manifest, options)
            #expect(refused.summary.failures == ["redirect-refused": 1])
            #expect(refused.lines[0].error?.message.contains("--allow-downgrade") == true)
            #expect(origin.count("/b") == 0)
            let followed = try larder.prefetchGuarded(
                manifest, options + ["--allow-downgrade", "--header", "X-Token: sEcReT"])
            #expect(followed.outcomes == ["fetched"])
            #expect(origin.requests.last?.path == "/b")
            #expect(origin.requests.last?.header("X-Token") == nil)
        }
    }
}
