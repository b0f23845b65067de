import Foundation
import LarderTestSupport
import LarderTestTLS
import Testing

/// Messages that say what to do next.
@Suite struct AdviceTests {
    @Test(arguments: [["push"], ["pull"], ["--no-config", "push"]])
    func pushAndPullNeedNotFollowRemote(_ words: [String]) throws {
        let binary = try LarderBinary()
        let short = try binary.run(words)
        let long = try binary.run(["remote"] + words.suffix(1))
        #expect(short.status == 64 && long.status == 64, "\(short)")
        #expect(short.standardError == long.standardError)
    }

    @Test(arguments: [
        (
            ["--cache", "c", "status"],
            "'--cache' belongs after the command, for example: larder status --cache c"
        ),
        (
            ["--json", "remote", "push"],
            "'--json' belongs after the command, for example: larder remote push --json"
        ),
        (
            ["remote", "--remote=s3://b/p", "pull"],
            "'--remote' belongs after the command, for example: larder remote pull --remote s3://b/p"
        ),
        (
            ["--cache=my icons"],
            "'--cache' belongs after the command, for example: larder prefetch --cache 'my icons'"
        ),
        (
            ["--header", "X-Key: secret", "verify"],
            "'--header' belongs after the command, for example: larder verify --header '…'"
        ),
        (
            ["verify", "a.json"],
            """
            Unexpected argument 'a.json': write a manifest after --manifest, and a cache after \
            --cache
            """
        ),
        (
            ["export", "out", "a.json", "--layout", "files"],
            """
            Unexpected argument 'a.json': write a manifest after --manifest, and a cache after \
            --cache
            """
        ),
        // Neither argument is a manifest.
        (
            ["export", "cache", "out", "--layout", "files"],
            """
            Unexpected argument 'out': write a manifest after --manifest, and a cache after --cache
            """
        ),
        (
            ["evict", "a.json"],
            "Unexpected argument 'a.json': write a manifest after --keep, and a cache after --cache"
        ),
        (
            ["evict", "--max-size", "2", "GB"],
            "Unexpected argument 'GB': write 2GB without a space"
        ),
        // A size in days would be refused.
        (
            ["evict", "--max-size", "2", "d"],
            "Unexpected argument 'd': write a manifest after --keep, and a cache after --cache"
        ),
        (["--nosuch", "status"], "Unknown option '--nosuch'"),
        (["status", "icons"], "Unexpected argument 'icons': for a cache, write --cache icons"),
        (["list", "a b"], "Unexpected argument 'a b': for a cache, write --cache 'a b'"),
        (["snapshot", "a", "b"], "Unexpected argument 'b': for a cache, write --cache b"),
        // A manifest is not a directory.
        (["verify", "/"], "Unexpected argument '/': for a cache, write --cache /"),
        (["path", "http://a/", "http://b/"], "Unexpected argument 'http://b/'"),
    ])
    func misplacedWordsGetAdvice(_ arguments: [String], _ message: String) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.hasPrefix("Error: \(message)\nUsage: "), "\(finished)")
        #expect(!finished.standardError.contains("secret"), "\(finished)")
    }

    @Test(arguments: [
        ("--max-size", "2 GB", "write 2GB without a space"),
        ("--max-age", "1h 30m", "write 1h30m without a space"),
        ("--max-size", "99999999999GB", "too large; at most 9223372036854775807 bytes"),
        ("--max-count", "99999999999999999999", "too large"),
        // A size in days would be refused.
        ("--max-size", "2 d", "at most 9223372036854775807 bytes"),
    ])
    func unreadableQuantitiesGetAdvice(
        _ option: String, _ value: String, _ advice: String
    ) throws {
        let finished = try LarderBinary().run(["evict", option, value])
        #expect(finished.status == 64, "\(finished)")
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.contains("'\(value)'") && complaint.hasSuffix(advice), "\(finished)")
    }

    @Test func anEvictionWithoutALimitSuggestsOne() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let advice = "\nno limit was given, so only leftovers are removed; add a limit, such as"
            let evict = try larder.run("evict")
            #expect(evict.status == 0, "\(evict)")
            #expect(evict.standardOutput.hasSuffix("\(advice) --max-size 2GB\n"), "\(evict)")
            for options in [["--max-size", "2GB"], ["--only", manifest], ["--quiet"], ["--json"]] {
                let evict = try larder.run(arguments: ["evict"] + options)
                #expect(evict.status == 0, "\(evict)")
                #expect(!evict.standardOutput.contains("no limit"), "\(evict)")
            }
        }
    }

    @Test func moreFreeSpaceThanTheDiskHasIsRefusedWithItsSize() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let words = "larder: --min-free must be at most the size of the cache's file system, "
            let evict = try larder.run("evict", "--min-free", "9000000TB")
            #expect(evict.status == 64, "\(evict)")
            #expect(evict.standardError.hasPrefix(words), "\(evict)")
            // For example `270.1 GB (270123456789 bytes)`.
            #expect(evict.standardError.hasSuffix(" bytes)\n"), "\(evict)")
            let exact = evict.standardError.drop { $0 != "(" }.dropFirst()
            let size = String(exact.prefix { $0.isNumber })
            let next = try larder.run("evict", "--dry-run", "--min-free", size)
            #expect(next.status != 64, "\(next)")
        }
    }

    @Test func anHTTPServerBehindAnHTTPSURLIsRecognised() async throws {
        try await withFixture { larder in
            // It answers any request, even a TLS handshake, in HTTP.
            let server = try EndlessServer()
            let url = server.url.replacing("http:", with: "https:")
            let run = try larder.prefetch(larder.manifest(url), options: ["--attempts", "1"])
            #expect(run.status == 2, "\(run.finished)")
            let error = try #require(try run.line(1).error)
            #expect(error.code == "tls")
            #expect(
                error.message.hasSuffix(
                    "; the server or proxy seems to use http; write http:// in its URL"),
                "\(error)")
            _ = server.waitForEnd()
        }
    }

    /// An authority does not help if a certificate is expired.
    @Test(
        arguments: [
            (.selfSigned, true), (.trusted, true), (.expired, false),
        ] as [(TestCertificates.Kind, Bool)])
    func anUntrustedCertificateSuggestsAnAuthority(
        _ kind: TestCertificates.Kind, _ isUnknown: Bool
    ) async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1))
            let front = try TLSFront(originPort: larder.origin.port, certificate: kind)
            let manifest = try larder.manifest(front.url("/a"))
            let authority = isUnknown ? [] : ["--ca-cert", TestCertificates.authorityPath]
            let proxy = try ForwardProxy()
            // Proxies of companies often replace certificates.
            for options in [[], ["--proxy", proxy.url(), "--retry-failed"]] {
                let run = try larder.prefetch(manifest, options: authority + options)
                let error = try #require(try run.line(1).error)
                #expect(error.code == "certificate")
                let advice = "; use --ca-cert FILE to trust the certificate authority in FILE"
                #expect(error.message.hasSuffix(advice) == isUnknown, "\(error)")
            }
            #expect(!proxy.requests.isEmpty)
            guard isUnknown else { return }
            let file =
                kind == .selfSigned
                ? TestCertificates.certificatePath(kind) : TestCertificates.authorityPath
            let next = try larder.prefetch(
                manifest, options: ["--ca-cert", file, "--retry-failed"])
            #expect(next.outcomes == ["fetched"], "\(next.finished)")
        }
    }

    @Test func aFileWithoutACertificateIsRefusedAtTheStart() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            let files = [
                TestCertificates.keyPath(.trusted), try larder.write("".utf8, to: "empty.pem"),
                try larder.write(
                    "-----BEGIN CERTIFICATE-----\njunk\n-----END CERTIFICATE-----\n".utf8,
                    to: "junk.pem"),
            ]
            let offline = ["localize", manifest, "--icons", larder.directory.path("icons")]
            for (file, command) in files.flatMap({ [($0, ["prefetch", manifest]), ($0, offline)] })
            {
                let finished = try larder.run(
                    arguments: command + ["--allow-private-network", "--ca-cert", file])
                #expect(finished.status == 66, "\(finished)")
                let words = "larder: --ca-cert: \(file): no certificate in PEM format; a PEM file"
                #expect(finished.standardError.hasPrefix(words), "\(finished)")
                #expect(!larder.hasCache)
            }
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test(arguments: [
        ("example.com/apps.json", "https://example.com/apps.json"),
        ("localhost:8080/apps.json", "https://localhost:8080/apps.json"),
        ("lists.d/apps.json", nil), ("./example.com/apps.json", nil), ("apps.json", nil),
    ])
    func aManifestWithoutASchemeSuggestsAURL(_ name: String, _ url: String?) async throws {
        try await withFixture { larder in
            // A missing file in an existing directory is not a URL.
            #expect(mkdir(larder.directory.path("lists.d"), 0o755) == 0)
            for command in [["prefetch", name], ["plan", name], ["verify", "--manifest", name]] {
                if command[0] == "verify" {
                    let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
                    #expect(try larder.prefetch(manifest).status == 0)
                    unlink(manifest)
                }
                let finished = try larder.binary.run(
                    command + ["--cache", larder.cache], directory: larder.directory.path)
                #expect(finished.status == 66, "\(finished)")
                let advice = url.map { "; for a URL, write \($0)" } ?? ""
                #expect(
                    finished.standardError.hasSuffix(
                        "larder: \(name): cannot open: No such file or directory\(advice)\n"),
                    "\(finished)")
            }
            let finished = try larder.binary.run(
                ["import", "lists.d", "--layout", "files", "--manifest", name],
                directory: larder.directory.path)
            #expect(finished.status == 66, "\(finished)")
            let advice = url.map { "; for a URL, write \($0)" } ?? ""
            #expect(
                finished.standardError
                    == "larder: --manifest: \(name): No such file or directory\(advice)\n",
                "\(finished)")
        }
    }

    @Test func aPortInUseSuggestsAnother() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let address = "127.0.0.1:\(larder.origin.port)"
            let finished = try larder.run("serve", "--listen", address)
            #expect(finished.status == 1, "\(finished)")
            #expect(
                finished.standardError == "larder: \(address): cannot listen: another program uses"
                    + " this address; choose another port with --listen\n")
        }
    }

    @Test(.enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"))
    func aCacheThatTheUserCannotReadSuggestsTheOwner() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            chmod(larder.directory.path, 0o755)
            chmod(larder.cache, 0o000)
            defer { chmod(larder.cache, 0o755) }
            for command in [
                ["status"], ["verify"], ["evict"], ["plan", manifest], ["prefetch", manifest],
                ["export", larder.directory.path("out"), "--layout", "files"],
            ] {
                let finished = try Nobody.run(larder.binary, command + ["--cache", larder.cache])
                #expect(finished.status == 1, "\(finished)")
                #expect(
                    finished.standardError == "larder: \(larder.cache): open: Permission denied;"
                        + " run as its owner, or give this user access\n", "\(finished)")
            }
        }
    }

    @Test(
        .enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"),
        arguments: [true, false])
    func objectsThatTheUserCannotReadSuggestTheOwner(isDirectory: Bool) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
            chmod(larder.directory.path, 0o777)
            let path =
                isDirectory ? "\(larder.cache)/objects" : try larder.objectPath(url)
            chmod(path, 0o000)
            defer { chmod(path, 0o755) }
            for layout in ["files", "gallery"] {
                let finished = try Nobody.run(
                    larder.binary,
                    ["export", larder.directory.path(layout), "--layout", layout]
                        + ["--cache", larder.cache])
                #expect(finished.status == (isDirectory ? 1 : 2), "\(finished)")
                let output = finished.standardOutput + finished.standardError
                #expect(
                    output.contains(
                        "\(path): open: Permission denied; run as its owner, or give this user"
                            + " access\n"), "\(finished)")
            }
        }
    }

    @Test(
        .enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"),
        arguments: [("files", ""), ("nuke", ""), ("nuke", "/com.github.kean.Nuke.DataCache")])
    func anExportNamesItsOwnDirectoryThatTheUserCannotWrite(
        _ layout: String, _ folder: String
    ) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            chmod(larder.directory.path, 0o755)
            let output = larder.directory.path("out")
            try FileManager.default.createDirectory(
                atPath: output + folder, withIntermediateDirectories: true)
            chmod(output + folder, 0o555)
            let finished = try Nobody.run(
                larder.binary, ["export", output, "--layout", layout, "--cache", larder.cache])
            #expect(finished.status == 1, "\(finished)")
            let error = finished.standardError
            #expect(error.hasPrefix("larder: \(output)\(folder)/"), "\(finished)")
            #expect(error.hasSuffix(": Permission denied\n"), "\(finished)")
        }
    }

    @Test(arguments: ["files", "nuke", "gallery"])
    func anExportToAManifestIsExplained(_ layout: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let before = try Data(contentsOf: URL(fileURLWithPath: manifest))
            let finished = try larder.run(
                "export", manifest, "--layout", layout, "--manifest", larder.directory.path)
            #expect(finished.status == 1, "\(finished)")
            #expect(
                finished.standardError == "larder: \(manifest): not a directory; name the output"
                    + " directory here, and a manifest after --manifest\n", "\(finished)")
            #expect(try Data(contentsOf: URL(fileURLWithPath: manifest)) == before)
        }
    }

    @Test(.enabled(if: firstOpenPort > 1, "this system lets every user listen on every port"))
    func aPrivilegedPortSuggestsAnother() async throws {
        try await withFixture { larder in
            chmod(larder.directory.path, 0o755)
            mkdir(larder.cache, 0o755)
            let finished = try Nobody.run(
                larder.binary, ["serve", "--listen", "127.0.0.1:1", "--cache", larder.cache])
            #expect(finished.status == 1, "\(finished)")
            #expect(
                finished.standardError == "larder: 127.0.0.1:1: cannot listen: a port below 1024"
                    + " needs root or CAP_NET_BIND_SERVICE; choose another port with --listen,"
                    + " such as 8080\n", "\(finished)")
        }
    }

    /// The first port on which every user can listen (ip_unprivileged_port_start), or 0 if tests
    /// cannot run as another user.
    private static let firstOpenPort: Int = {
        let file = "/proc/sys/net/ipv4/ip_unprivileged_port_start"
        let text = try? String(contentsOfFile: file, encoding: .utf8)
        return Nobody.isPossible ? text.flatMap { Int($0.dropLast()) } ?? 0 : 0
    }()

    @Test func aMissingTemporaryDirectoryIsNamed() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let missing = larder.directory.path("missing")
            let finished = try larder.run(
                arguments: ["serve", "--listen", "127.0.0.1:0", "--manifest", manifest],
                environment: ["TMPDIR": missing])
            #expect(finished.status == 1, "\(finished)")
            #expect(
                finished.standardError == "larder: \(missing)/: make a temporary file: No such file"
                    + " or directory; set TMPDIR to a writable directory with free space\n",
                "\(finished)")
        }
    }

    @Test(arguments: [
        ("//icons.example/a.png", "; use --base-url to resolve it, or write https: before it"),
        ("icons.example/a.png", "; use --base-url to resolve it, or write https:// before it"),
        ("./icons.example/a.png", "; use --base-url to resolve it"),
        ("icons/a.png", "; use --base-url to resolve it"),
        ("a.png", "; use --base-url to resolve it"),
    ])
    func anIconWithoutASchemeSuggestsOne(_ icon: String, _ advice: String) async throws {
        try await withFixture { larder in
            let run = try larder.prefetch(larder.manifest(icon))
            #expect(run.status == 0, "\(run.finished)")
            let error = try #require(try run.line(1).error)
            #expect(error.code == "relative")
            #expect(error.message == "icon '\(icon)' is a relative name\(advice)", "\(error)")
        }
    }
}
