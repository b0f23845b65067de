import LarderTestSupport
import Testing

/// Manifests at a URL.
@Suite struct DownloadedManifestTests {
    @Test func relativeIconsResolveAgainstTheManifestURL() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/lists/apps.json", .ok(#"[{"icon": "a.svg"}, {"icon": "/b.svg"}]"#))
            origin.on("/lists/a.svg", Icons.reply(1))
            origin.on("/b.svg", Icons.reply(2))
            let url = origin.url("/lists/apps.json")
            let run = try larder.prefetch(url)
            #expect(run.outcomes == ["fetched", "fetched"], "\(run.finished)")
            #expect(try run.line(1).manifest == url)
            #expect(try run.line(1).url == origin.url("/lists/a.svg"))
        }
    }

    @Test func aDownloadedManifestThatIsMissingOrTooLongIsRefused() async throws {
        try await withFixture { larder in
            larder.origin.on("/long", .ok(String(repeating: " ", count: 2000)))
            let gone = try larder.run(
                "prefetch", larder.origin.url("/gone"), "--allow-private-network")
            #expect(gone.status == 66)
            #expect(gone.standardError.contains("status 404"))
            let long = try larder.run(
                "prefetch", larder.origin.url("/long"), "--allow-private-network",
                "--max-manifest-size", "1kB")
            #expect(long.status == 65)
        }
    }

    @Test func aDownloadedManifestMayNotNameFilesOrPrivateAddresses() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on(
                "/apps.json",
                .ok(
                    #"[{"icon": "file:///etc/passwd"}, {"icon": "\#(origin.url("/a", host: "127.0.0.2"))"}]"#
                ))
            let run = try larder.binary.run([
                "prefetch", origin.url("/apps.json"), "--allow-host", "127.0.0.1",
                "--cache", larder.cache,
            ])
            #expect(run.status == 2)
            #expect(run.standardOutput.contains("not fetched, other-scheme: 1"))
            #expect(run.standardError.contains("address-refused"))
            #expect(origin.count() == 1)
        }
    }

    @Test func credentialsInAManifestURLAreUsedButNotShown() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/apps.json") { request in
                request.header("Authorization") == "Basic dXNlcjpzM2NyZXQ="
                    ? .ok("no manifest") : .status(401)
            }
            let url = "http://user:s3cret@127.0.0.1:\(origin.port)/apps.json"
            let run = try larder.binary.run([
                "prefetch", url, "--allow-private-network", "--cache", larder.cache,
            ])
            #expect(run.status == 65)
            #expect(!run.standardError.contains("s3cret"), "\(run)")
            #expect(run.standardError.contains("***@127.0.0.1"))
        }
    }

    @Test func aRedirectToAnotherHostGetsNoHeadersOrCredentials() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/apps.json", .redirect(to: origin.url("/other.json", host: "localhost")))
            origin.on("/other.json", .ok("[]"))
            let netrc = try larder.write("default login a password b".utf8, to: "netrc")
            let run = try larder.prefetch(
                "http://user:s3cret@127.0.0.1:\(origin.port)/apps.json",
                options: ["--header", "X-Key: s3cret", "--netrc-file", netrc])
            #expect(run.status == 0, "\(run.finished)")
            #expect(origin.requests.map { $0.header("X-Key") } == ["s3cret", nil])
            #expect(origin.requests[0].header("Authorization") != nil)
            #expect(origin.requests[1].header("Authorization") == nil)
        }
    }
}
