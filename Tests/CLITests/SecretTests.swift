import Foundation
import LarderTestSupport
import Testing

/// Secrets in URLs and header fields, which no report or output may reveal. Credentials must not be
/// in the cache directory, either.
@Suite struct SecretTests {
    private let search = SecretSearch("sEcReT", "ToKeNvAlUe")

    @Test func theSearchFindsPlainAndBase64Secrets() {
        for text in [
            "xsEcReTx", "\u{0}sEcReT", "dXNlcjpzRWNSZVQ=",
            Data("a:sEcReT".utf8).base64EncodedString(),
            Data("ab:sEcReT!".utf8).base64EncodedString(),
            Data("Bearer ToKeNvAlUe".utf8).base64EncodedString(),
        ] {
            #expect(search.finds(in: Data(text.utf8)), "\(text)")
        }
        #expect(!search.finds(in: Data("secret".utf8)))
    }

    private static let options = ["--header", "X-Token: ToKeNvAlUe"]

    /// Adds a user name and a password to a URL.
    private static func secret(_ url: String) -> String {
        url.replacing("//", with: "//user:sEcReT@")
    }

    @Test func successfulAndFailedTransfersRevealNoSecrets() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.onAny { request in
                guard request.header("Authorization") == CredentialTests.basic else {
                    return .status(401)
                }
                return switch request.path {
                case "/a", "/keyed": Icons.reply(1).header("ETag", "\"1\"")
                case "/page": .ok("<html>sEcReT is what you typed</html>")
                case "/ftp": .redirect(to: "ftp://user:sEcReT@127.0.0.1/")
                case "/bad": .redirect(to: "http://user:sEcReT@[bad/")
                case "/loop": .redirect(to: Self.secret(origin.url("/loop")))
                case "/away": .redirect(to: Self.secret("http://127.0.0.1:1/"))
                case "/cut": Reply.ok(Icons.png).cut(after: 10)
                default: .status(404)
                }
            }
            let paths = ["/a", "/404", "/page", "/ftp", "/bad", "/loop", "/away", "/cut"]
            let urls = paths.map { Self.secret(origin.url($0)) }
            var entries: [ManifestEntry] = urls.map { ["icon": $0] }
            let keyed = Self.secret(origin.url("/keyed"))
            entries += [
                ["icon": keyed, "key": keyed], ["icon": "http://user:sEcReT@[bad/"],
                ["icon": "ftp://user:sEcReT@h/"], ["icon": "//user:sEcReT@h/"],
                ["icon": "http:\\\\user:sEcReT@h:x/"], ["icon": "http://user:sEc/sEcReT@h/"],
            ]
            let manifest = try larder.manifest(entries)
            let run = try larder.prefetch(manifest, options: Self.options + ["--attempts", "2"])
            #expect(run.outcomes.filter { $0 == "fetched" }.count == 2, "\(run.finished)")
            // Two are never fetched: without a base URL, and with another scheme.
            #expect(run.summary.failed == entries.count - 4)
            #expect(origin.requests.allSatisfy { $0.header("X-Token") == "ToKeNvAlUe" })

            search.expectNothing(in: run.finished)
            let report = URL(fileURLWithPath: larder.directory.path("report.jsonl"))
            search.expectNothing(in: try Data(contentsOf: report), "the report")
            for command in [
                ["plan", manifest], ["plan", manifest, "--json"], ["list"], ["list", "--json"],
                ["status"], ["verify", "--json"], ["cat", Self.secret(origin.url("/no"))],
                ["path", keyed], ["path", "key:" + keyed],
            ] {
                search.expectNothing(
                    in: try larder.binary.run(command + ["--cache", larder.cache]))
            }
            try search.expectNothing(inFilesBelow: larder.cache)

            // Icons are found under their URL or key, with and without the password.
            for (path, space) in [("/a", ""), ("/keyed", "key:")] {
                let url = origin.url(path)
                #expect(try larder.cat(space + url) == Icons.icon(1))
                #expect(try larder.cat(space + Self.secret(url)) == Icons.icon(1))
            }
            let again = try larder.prefetch(manifest, options: Self.options)
            #expect(again.summary.cached == 2)
        }
    }

    /// Query values whose names say that they are secret are masked. If an entry has a `key`, its
    /// whole query is masked, because such URLs are signed or rotate. The real values are sent, and
    /// only the index stores them.
    @Test func secretsInQueriesAreNotRevealed() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.onAny { request in
                switch request.path {
                case "/named": Icons.reply(1)
                case "/keyed": Icons.reply(2)
                case "/page": .ok("<html>no image</html>")
                case "/away": .redirect(to: "http://127.0.0.1:1/?x=sEcReT")
                case "/loop": .redirect(to: request.target)
                default: .status(404)
                }
            }
            let named = origin.url("/named?size=64&token=sEcReT")
            let keyed = origin.url("/keyed?expires=sEcReT")
            let paths = ["/page", "/away", "/loop", "/gone"].map { "\($0)?x=sEcReT" }
            let keys = paths.indices.map { "key\($0)" }
            let manifest = try larder.manifest(
                [
                    ["icon": named], ["icon": keyed, "key": "a key"], ["icon": named],
                    ["icon": "http://[bad/?x=sEcReT"], ["icon": "a.png?token=sEcReT"],
                ] + zip(paths, keys).map { ["icon": origin.url($0), "key": $1] })
            let fresh = try larder.run("plan", manifest)
            search.expectNothing(in: fresh)
            #expect(fresh.standardOutput.contains("/named?size=64&token=***"), "\(fresh)")
            #expect(fresh.standardOutput.contains("/keyed?***"), "\(fresh)")
            let run = try larder.prefetch(manifest, options: ["--attempts", "1"])
            #expect(run.summary.failed == 5, "\(run.finished)")
            #expect(origin.requests.allSatisfy { $0.target.contains("sEcReT") })
            search.expectNothing(in: run.finished)
            let report = URL(fileURLWithPath: larder.directory.path("report.jsonl"))
            search.expectNothing(in: try Data(contentsOf: report), "the report")

            try larder.overwrite(try larder.objectPath(named), with: [0])
            for command in [
                ["pin", manifest], ["pin"], ["plan", manifest], ["plan", manifest, "--json"],
                ["list"], ["list", "--json"], ["status"],
                ["verify"], ["verify", "--json", "--manifest", manifest],
                ["verify", "--repair", "--manifest", manifest], ["verify", "--manifest", manifest],
                ["cat", origin.url("/no?token=sEcReT")], ["unpin", manifest],
                ["prefetch", manifest, "--offline"], ["plan", origin.url("/m?token=sEcReT")],
                ["evict", "--dry-run", "--max-size", "0", "--keep", manifest],
            ] {
                let finished = try larder.binary.run(command + ["--cache", larder.cache])
                #expect(finished.status != 64, "\(finished)")
                search.expectNothing(in: finished)
            }
            // A failed repair names the URL with its secret masked.
            for option in ["--json", "--quiet"] {
                _ = try larder.prefetch(manifest, options: ["--attempts", "1", "--retry-gone"])
                try larder.overwrite(try larder.objectPath(named), with: [0])
                let finished = try larder.run("verify", "--repair", option)
                #expect(finished.status == 2)
                #expect(
                    (finished.standardOutput + finished.standardError).contains(
                        "/named?size=64&token=***"), "\(finished)")
                search.expectNothing(in: finished)
            }
        }
    }

    @Test func aRefusedListRevealsNoSecrets() async throws {
        try await withFixture { larder in
            let list = try larder.write("The icon is http://user:sEcReT@h/a.png\n".utf8, to: "list")
            let finished = try larder.run("prefetch", list)
            #expect(finished.status == 65)
            #expect(finished.standardError.contains("http://***@h/a.png"), "\(finished)")
            search.expectNothing(in: finished)
        }
    }

    /// The run leaves its plan in `tmp/`. The credentials in it are sealed with a key of that run.
    @Test func aKilledRunRevealsNoSecrets() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number < 20 ? Icons.reply(number) : Icons.reply(number).heldBy(gate)
            }
            let urls = (0..<2_000).map { Self.secret(larder.origin.url("/\($0)")) }
            let process = try larder.startPrefetch(
                try larder.manifest(urls: urls), report: larder.directory.path("report.jsonl"),
                options: Self.options)
            try await larder.origin.waitForRequests(26)
            process.kill(SIGKILL)
            let finished = try process.wait()
            #expect(finished.status == -SIGKILL)
            #expect(
                larder.origin.requests.allSatisfy {
                    $0.header("Authorization") == CredentialTests.basic
                })
            search.expectNothing(in: finished)
            let left = try FileManager.default.subpathsOfDirectory(atPath: larder.cache)
            let plan = try #require(left.first { $0.hasSuffix("plan.sqlite") }, "\(left)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(larder.cache)/\(plan)"))
            #expect(bytes.range(of: Data(larder.origin.url("/1999").utf8)) != nil)
            try search.expectNothing(inFilesBelow: larder.cache)
        }
    }

    /// Credentials are used only for the URL that contains them.
    @Test func aResourceIsRequestedOnceWithTheFirstCredentials() async throws {
        try await withFixture { larder in
            let (origin, other) = (larder.origin, try Origin())
            for origin in [origin, other] { origin.onAny { _ in Icons.reply(1) } }
            let secret = Self.secret(origin.url("/a"))
            let run = try larder.prefetch(
                try larder.manifest([
                    ["icon": origin.url("/a")], ["icon": secret],
                    ["icon": secret.replacing("user", with: "you")],
                    ["icon": other.url("/k"), "key": "k"],
                ]),
                try larder.manifest(
                    [["icon": Self.secret(origin.url("/k")), "key": "k"]], name: "rotated.json"))
            #expect(
                run.outcomes == ["fetched", "coalesced", "coalesced", "fetched", "coalesced"])
            #expect(origin.requests.map { $0.header("Authorization") } == [CredentialTests.basic])
            #expect(other.requests.map { $0.header("Authorization") } == [nil])
        }
    }
}
