import Foundation
import LarderTestSupport
import LarderTestTLS
import Testing

/// The servers that receive credentials, header fields and client certificates.
@Suite struct CredentialTests {
    /// "user:sEcReT" in base64 (RFC 7617).
    static let basic = "Basic dXNlcjpzRWNSZVQ="

    private static func field(_ text: String...) -> [String] { text.flatMap { ["--header", $0] } }

    @Test func credentialsStayAtTheirOrigin() async throws {
        try await withFixture { larder in
            let (origin, other) = (larder.origin, try Origin())
            other.on("/b", Icons.reply(2))
            origin.on("/same", .redirect(to: "/a"))
            origin.on("/a", Icons.reply(1))
            origin.on("/other", .redirect(to: other.url("/b")))
            // The same server under another name is another host.
            origin.on("/name", .redirect(to: origin.url("/a?b", host: "localhost")))
            origin.on("/own", .redirect(to: other.url("/b?c").replacing("//", with: "//you:own@")))
            let urls = ["/same", "/other", "/name", "/own"].map {
                origin.url($0).replacing("//", with: "//user:sEcReT@")
            }
            let run = try larder.prefetch(
                try larder.manifest(urls: urls), options: ["--max-concurrent", "1"])
            #expect(run.summary.fetched == 4, "\(run.finished)")
            for request in origin.requests {
                let isOwn = request.host == "127.0.0.1"
                #expect(request.header("Authorization") == (isOwn ? Self.basic : nil))
            }
            // "you:own" in base64.
            #expect(
                other.requests.map { $0.header("Authorization") } == [nil, "Basic eW91Om93bg=="])
        }
    }

    /// Of two entries with one key, the URL of the first is fetched. Credentials in the URL of the
    /// second are used only if both URLs are otherwise the same.
    @Test func credentialsOfASecondEntryAreUsedOnlyForTheSameURL() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            for (host, isSameURL) in [("localhost", false), ("127.0.0.1", true)] {
                larder.origin.resetLog()
                let urls = [
                    larder.origin.url("/\(host)"),
                    larder.origin.url("/\(host)", host: host)
                        .replacing("//", with: "//user:sEcReT@"),
                ]
                let manifests = try urls.enumerated().map { number, url in
                    try larder.write(
                        #"[{"icon":"\#(url)","key":"\#(host)"}]"#.utf8, to: "\(host)\(number).json")
                }
                let run = try larder.prefetch(manifests[0], manifests[1])
                #expect(run.status == 0, "\(run.finished)")
                #expect(
                    larder.origin.requests.map { $0.header("Authorization") }
                        == [isSameURL ? Self.basic : nil])
            }
        }
    }

    @Test func retriesSendTheCredentialsAgain() async throws {
        try await withFixture { larder in
            larder.origin.on("/a") { $0.attempt < 3 ? .status(503) : Icons.reply(1) }
            let url = larder.origin.url("/a").replacing("//", with: "//user:sEcReT@")
            let run = try larder.prefetch(
                try larder.manifest(url), options: Self.field("X-Token: 1"))
            #expect(run.outcomes == ["fetched"], "\(run.finished)")
            #expect(larder.origin.requests.count == 3)
            for request in larder.origin.requests {
                #expect(request.header("Authorization") == Self.basic)
                #expect(request.header("X-Token") == "1")
            }
        }
    }

    @Test func relativeURLsUseTheCredentialsOfTheBaseURL() async throws {
        try await withFixture { larder in
            let (origin, other) = (larder.origin, try Origin())
            for origin in [origin, other] { origin.onAny { _ in Icons.reply(1) } }
            let base = origin.url("/icons/").replacing("//", with: "//user:sEcReT@")
            let run = try larder.prefetch(
                try larder.manifest("a", "/b", other.url("/c")), options: ["--base-url", base])
            #expect(run.summary.fetched == 3, "\(run.finished)")
            #expect(Set(origin.requests.map(\.path)) == ["/icons/a", "/b"])
            #expect(origin.requests.allSatisfy { $0.header("Authorization") == Self.basic })
            #expect(other.requests.map { $0.header("Authorization") } == [nil])
            SecretSearch("sEcReT").expectNothing(in: run.finished)
        }
    }

    @Test func headerFieldsStayAtTheManifestsOrigins() async throws {
        try await withFixture { larder in
            let (origin, other) = (larder.origin, try Origin())
            other.onAny { _ in Icons.reply(2) }
            origin.on("/same", .redirect(to: "/a"))
            origin.on("/a", Icons.reply(1))
            origin.on("/other", .redirect(to: other.url("/b")))
            let options =
                Self.field("Authorization: Bearer sEcReT", "Cookie:sEcReT", "X-Token:  sEcReT ")
                + ["--max-concurrent", "1"]
            let run = try larder.prefetch(
                try larder.manifest(origin.url("/same"), origin.url("/other"), other.url("/c")),
                options: options)
            #expect(run.summary.fetched == 3, "\(run.finished)")
            let expected = [
                "Authorization": "Bearer sEcReT", "Cookie": "sEcReT", "X-Token": "sEcReT",
            ]
            for (name, value) in expected {
                #expect(origin.requests.map { $0.header(name) } == [value, value, value])
                let paths = other.requests.map { $0.header(name) == nil ? "" : $0.path }
                #expect(paths.sorted() == ["", "/c"], "\(name)")
            }
        }
    }

    @Test func aHeaderFieldForAHostIsSentOnlyToThatHost() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.onAny { request in
                request.path.hasPrefix("/to-localhost")
                    ? .redirect(to: origin.url("/end", host: "localhost")) : Icons.reply(1)
            }
            let urls = ["127.0.0.1", "localhost"].map { origin.url("/a", host: $0) }
            let run = try larder.prefetch(
                try larder.manifest(urls: urls + [origin.url("/to-localhost")]),
                options: Self.field(
                    "localhost: X-Host: 1", "localhost:\(origin.port): X-Port: 2",
                    "localhost:\(origin.port &+ 1): X-Other: 3", "X-All: 4", "localhost: X-All: 5",
                    "[::1]: X-All: 6") + ["--max-concurrent", "1"])
            #expect(run.summary.fetched == 3, "\(run.finished)")
            for request in origin.requests {
                let isNamed = request.host == "localhost"
                #expect(request.header("X-Host") == (isNamed ? "1" : nil))
                #expect(request.header("X-Port") == (isNamed ? "2" : nil))
                #expect(request.header("X-Other") == nil)
                #expect(request.header("X-All") == (isNamed ? "5" : "4"))
                #expect(request.headers.filter { $0.name == "X-All" }.count == 1)
            }
            #expect(origin.count("/end") == 1)
        }
    }

    @Test func headerOptionsReplaceTheDefaultHeaderFields() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(
                try larder.manifest(url),
                options: Self.field("accept: text/html", "USER-AGENT: mine"))
            let request = larder.origin.requests[0]
            #expect(request.header("Accept") == "text/html")
            #expect(request.header("User-Agent") == "mine")
            let names = request.headers.map { $0.name.lowercased() }
            #expect(Set(names).count == names.count)
        }
    }

    enum Netrc: CaseIterable { case home, variable, option }

    @Test(arguments: Netrc.allCases)
    func netrcCredentialsAreSentOnlyToTheirHost(_ place: Netrc) async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let text = """
                machine localhost login user password sEcReT
                default login anybody password sEcReT
                """
            let file = try larder.write(text.utf8, to: place == .home ? ".netrc" : "netrc")
            origin.on("/a", Icons.reply(1))
            // A redirect to another origin gets no credentials, although `default` has some.
            origin.on("/b", .redirect(to: origin.url("/c")))
            origin.on("/c", Icons.reply(2))
            let (option, environment) =
                switch place {
                case .home: (["--netrc"], ["HOME": larder.directory.path])
                case .variable: (["--netrc"], ["NETRC": file])
                case .option: (["--netrc-file", file], [:])
                }
            let run = try larder.prefetchGuarded(
                try larder.manifest(
                    urls: ["/a", "/b"].map { origin.url($0, host: "localhost") }),
                ["--allow-private-network", "--max-concurrent", "1"] + option,
                environment: environment)
            #expect(run.outcomes == ["fetched", "fetched"], "\(run.finished)")
            #expect(
                origin.requests.map { $0.header("Authorization") } == [Self.basic, Self.basic, nil])
            SecretSearch("sEcReT").expectNothing(in: run.finished)
            try SecretSearch("sEcReT").expectNothing(inFilesBelow: larder.cache)
        }
    }

    @Test func aClientCertificateStaysAtTheManifestsOrigins() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/a", Icons.reply(1))
            let front = try TLSFront(originPort: origin.port, requiresClientCertificate: true)
            origin.on("/same", .redirect(to: "/a"))
            origin.on("/redirect", .redirect(to: front.url("/a?b")))
            let run = try larder.prefetch(
                try larder.manifest(front.url("/same"), origin.url("/redirect")),
                options: [
                    "--ca-cert", TestCertificates.authorityPath, "--max-concurrent", "1",
                    "--client-cert", TestCertificates.certificatePath(.selfSigned),
                    "--client-key", TestCertificates.keyPath(.selfSigned), "--attempts", "1",
                ])
            #expect(run.outcomes == ["fetched", "failed"], "\(run.finished)")
            #expect(origin.count("/a?b") == 0)
        }
    }

    // MARK: Usage

    @Test(arguments: [
        ["--header", "sEcReT"], ["--header", ": sEcReT"], ["--header", "X Y: sEcReT"],
        ["--header", "X: sEcReT\r\nY: 1"], ["--header", "Host: sEcReT"],
        ["--header", "If-None-Match: sEcReT"], ["--header", "example.com: sEcReT"],
        ["--header", "a b.c: X: sEcReT"], ["--header", "[::1: X: sEcReT"],
        ["--proxy", "ftp://me:sEcReT@p"], ["--proxy", "http://me:sEcReT@p:99999"],
        ["--proxy", "http://me:sEcReT@"], ["--proxy", "http://me:sEcReT@p/path"],
        ["--client-key", "key.pem"], ["--allow-host", ""], ["--allow-host", "http://a/"],
        ["--resolve", "a:80"], ["--connect-to", "a:80:b"], ["--limit-rate", "0"],
        ["--limit-rate", "fast"],
    ])
    func usageErrorsExitWith64AndQuoteNoSecret(_ options: [String]) throws {
        let finished = try LarderBinary().run(["prefetch", "apps.json"] + options)
        #expect(finished.status == 64, "\(finished)")
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.hasPrefix("Error: "), "\(finished)")
        #expect(complaint.contains(options[0]), "\(finished)")
        SecretSearch("sEcReT").expectNothing(in: finished)
    }

    @Test func anErrorNamesTheInvalidProxyVariable() throws {
        let finished = try LarderBinary().run(
            ["prefetch", "apps.json"], environment: ["https_proxy": "ftp://me:sEcReT@p"])
        #expect(finished.status == 64)
        #expect(finished.standardError.contains("$https_proxy has a scheme other"), "\(finished)")
        SecretSearch("sEcReT").expectNothing(in: finished)
    }

    @Test(arguments: ["--netrc-file", "--client-cert", "--ca-cert"])
    func aMissingFileInAnOptionExitsWith66(_ option: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let missing = larder.directory.path("missing")
            let finished = try larder.run("prefetch", manifest, option, missing)
            #expect(finished.status == 66, "\(finished)")
            #expect(
                finished.standardError
                    == "larder: \(option): \(missing): No such file or directory\n")
            #expect(!larder.hasCache)
        }
    }

    /// An unset variable in a script must not select the authorities of the system.
    @Test(arguments: ["--ca-cert", "--netrc-file", "--client-cert"])
    func anEmptyNameIsAMissingFile(_ option: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.serveIcons(1)[0])
            let finished = try larder.run("prefetch", manifest, option, "")
            #expect(finished.status == 66, "\(finished)")
            #expect(
                finished.standardError == "larder: \(option) needs the name of a file\n",
                "\(finished)")
        }
    }
}
