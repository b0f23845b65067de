import Foundation
import LarderTestSupport
import Testing

/// Manifests that are fetched from URLs and stored in the cache.
@Suite struct KeptManifestTests {
    /// Serves a manifest whose ETag is the digest of its text.
    private func serve(_ text: String, at path: String, of origin: Origin) {
        let tag = "\"\(ReferenceSHA256.hex(Array(text.utf8)))\""
        origin.on(path) { request in
            request.header("If-None-Match") == tag
                ? .notModified : .ok(text).header("ETag", tag)
        }
    }

    /// Serves icons that stay fresh for an hour.
    private func serveFresh(_ count: Int, of origin: Origin) {
        for number in 0..<count {
            origin.on(
                "/lists/\(number)", Icons.reply(number).header("Cache-Control", "max-age=3600"))
        }
    }

    @Test func anUnchangedManifestCostsAConditionalRequest() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(2, of: origin)
            serve(#"[{"icon": "0"}, {"icon": "1"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            #expect(try larder.prefetch(url).outcomes == ["fetched", "fetched"])
            #expect(try larder.status().resources == 3)
            // Twice, because header fields that the 304 does not repeat must not be lost.
            for attempt in 2...3 {
                let run = try larder.prefetch(url)
                #expect(run.outcomes == ["cached", "cached"], "\(run.finished)")
                #expect(origin.count("/lists/apps.json") == attempt)
                let request = try #require(origin.requests.last)
                #expect(request.header("If-None-Match") != nil)
            }
            #expect(origin.count() == 5)
            #expect(try larder.verify() == 0)
        }
    }

    @Test func aChangedManifestIsFetchedEvenIfTheCachedOneIsFresh() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(3, of: origin)
            let url = origin.url("/lists/apps.json")
            // The cached manifest is fresh, but larder still checks for a newer one.
            origin.on(
                "/lists/apps.json",
                .ok(#"[{"icon": "0"}]"#).header("Cache-Control", "max-age=3600"))
            _ = try larder.prefetch(url)
            serve(#"[{"icon": "2"}, {"icon": "0"}]"#, at: "/lists/apps.json", of: origin)
            #expect(try larder.prefetch(url).outcomes == ["fetched", "cached"])
            let offline = try larder.prefetch(url, options: ["--offline"])
            #expect(offline.outcomes == ["cached", "cached"])
        }
    }

    @Test func offlinePrefetchesUseTheCachedManifest() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            serve(#"[{"icon": "0"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            let early = try larder.run("prefetch", url, "--offline")
            #expect(early.status == 66 && early.standardError.contains("not in the cache"))
            _ = try larder.prefetch(url)
            origin.on("/lists/apps.json", .status(404))
            let gone = try larder.run("prefetch", url, "--allow-private-network")
            #expect(gone.status == 66 && gone.standardError.contains("status 404"), "\(gone)")
            let asked = origin.count()
            let run = try larder.prefetch(url, options: ["--offline"])
            #expect(run.status == 0 && run.outcomes == ["cached"])
            #expect(try run.line(1).url == origin.url("/lists/0"))
            #expect(origin.count() == asked)
        }
    }

    @Test func otherCommandsReadTheCachedManifest() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(2, of: origin)
            origin.on("/other", Icons.reply(9))
            serve(#"[{"icon": "0"}, {"icon": "1"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            _ = try larder.prefetch(larder.manifest(origin.url("/other")))
            for command in [
                ["plan", url], ["verify", "--manifest", url],
                ["evict", "--max-count", "0", "--keep", url], ["evict", "--only", url],
            ] {
                let run = try larder.run(arguments: command)
                #expect(run.status == 66, "\(command): \(run)")
            }
            _ = try larder.prefetch(url)
            let asked = origin.count()
            let plan = try larder.run("plan", url)
            #expect(plan.standardOutput.contains("cached  0  \(origin.url("/lists/0"))"), "\(plan)")
            #expect(try larder.run("verify", "--manifest", url).status == 0)
            // Only the manifest and its icons are kept.
            #expect(try larder.run("evict", "--only", url).status == 0)
            #expect(try larder.status().resources == 3)
            let full = try larder.run("evict", "--max-count", "0", "--keep", url)
            #expect(full.status == 2)
            #expect(try larder.status().resources == 3)
            #expect(origin.count() == asked)
        }
    }

    @Test func compressedAndBinaryManifestsAreRead() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            // [{"icon": "0"}] compressed with gzip.
            let packed = try #require(
                Data(base64Encoded: "H4sIAAAAAAACA4uuVspMzs9TslJQMlCqjQUA7jIPdg8AAAA="))
            origin.on("/lists/packed", .ok(packed, type: "application/gzip"))
            origin.on(
                "/lists/encoded", .ok(packed).header("Content-Encoding", "gzip"))
            let plist = try PropertyListSerialization.data(
                fromPropertyList: [["icon": "0"]], format: .binary, options: 0)
            origin.on("/lists/plist", .ok(plist))
            for name in ["packed", "encoded", "plist"] {
                let url = origin.url("/lists/\(name)")
                #expect(try larder.prefetch(url).status == 0)
                let offline = try larder.prefetch(url, options: ["--offline"])
                #expect(offline.outcomes == ["cached"], "\(name): \(offline.finished)")
            }
        }
    }

    @Test func aRedirectedManifestIsRevalidatedAtItsFinalURL() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            origin.on("/start", .redirect(to: "/lists/apps.json"))
            serve(#"[{"icon": "0"}]"#, at: "/lists/apps.json", of: origin)
            _ = try larder.prefetch(origin.url("/start"))
            origin.resetLog()
            let run = try larder.prefetch(origin.url("/start"))
            #expect(try run.line(1).url == origin.url("/lists/0"))
            #expect(origin.requests.map { $0.header("If-None-Match") == nil } == [true, false])
            let offline = try larder.prefetch(origin.url("/start"), options: ["--offline"])
            #expect(try offline.line(1).url == origin.url("/lists/0"))
        }
    }

    /// A captive portal, for example, responds with its own page.
    @Test func aResponseThatIsNotAManifestKeepsTheCachedOne() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            serve(#"[{"icon": "0"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            _ = try larder.prefetch(url)
            origin.on("/lists/apps.json", .ok("<html><p>Pay here</p></html>"))
            #expect(try larder.run("prefetch", url, "--allow-private-network").status == 65)
            #expect(try larder.prefetch(url, options: ["--offline"]).outcomes == ["cached"])
        }
    }

    @Test func aManifestWithNoStoreIsNotStored() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            origin.on(
                "/lists/apps.json",
                .ok(#"[{"icon": "0"}]"#).header("Cache-Control", "no-store"))
            let url = origin.url("/lists/apps.json")
            #expect(try larder.prefetch(url).outcomes == ["fetched"])
            #expect(try larder.run("plan", url).status == 66)
            _ = try larder.prefetch(url, options: ["--store-anyway"])
            #expect(try larder.run("plan", url).status == 0)
        }
    }

    @Test func credentialsInURLsAndManifestsReachNoFile() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(1, of: origin)
            origin.on("/lists/apps.json", .ok(#"[{"icon": "0"}]"#))
            let address = "127.0.0.1:\(origin.port)/lists"
            origin.on("/lists/more.json", .ok(#"[{"icon": "http://me:s3cret@\#(address)/0"}]"#))
            origin.on("/lists/ftp.json", .ok(#"[{"icon": "ftp://me:s3cret@\#(address)/0"}]"#))
            // Secrets in a second icon, in an unusable entry, and in the base URL of the icons.
            let secret = "http://me:s3cret@\(address)"
            origin.on(
                "/lists/second.json", .ok(#"[{"icons": [{"src": "0"}, {"src": "\#(secret)/0"}]}]"#))
            origin.on(
                "/lists/bad.json",
                .ok(#"[{"icon": "0"}, {"sha256": "x", "icon": "\#(secret)/0"}]"#))
            origin.on(
                "/lists/base.json",
                .ok(
                    #"{"repo": {"address": "\#(secret)"}, "apps": [{"packageName": "a", "icon": "0.png"}]}"#
                ))
            let more = [("second.json", 0), ("bad.json", 2), ("base.json", 2)]
            for (path, status) in [("apps.json", 0), ("more.json", 0), ("ftp.json", 0)] + more {
                let run = try larder.prefetch(
                    "http://user:pa55word@\(address)/\(path)", options: ["--icons", "first"])
                #expect(run.status == status, "\(run.finished)")
            }
            try SecretSearch("s3cret", "pa55word").expectNothing(inFilesBelow: larder.cache)
            #expect(try larder.run("plan", "http://\(address)/apps.json").status == 0)
            for path in ["more.json", "ftp.json"] + more.map(\.0) {
                #expect(try larder.run("plan", "http://\(address)/\(path)").status == 66)
            }
        }
    }

    @Test func aDamagedManifestIsFetchedAgainAndNeverRead() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(2, of: origin)
            serve(#"[{"icon": "0"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            _ = try larder.prefetch(url)
            try larder.overwrite(larder.objectPath(url), with: Array(#"[{"icon": "1"}]"#.utf8))
            #expect(try larder.run("prefetch", url, "--offline").status == 66)
            #expect(try larder.prefetch(url).outcomes == ["cached"])
            #expect(origin.requests.last?.header("If-None-Match") == nil)
            #expect(try larder.run("verify").status == 2)
            let repair = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(repair.status == 0, "\(repair)")
            #expect(try larder.prefetch(url, options: ["--offline"]).outcomes == ["cached"])
        }
    }

    @Test func pinningTheURLOfAManifestPinsTheManifest() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            serveFresh(2, of: origin)
            serve(#"[{"icon": "0"}, {"icon": "1"}]"#, at: "/lists/apps.json", of: origin)
            let url = origin.url("/lists/apps.json")
            _ = try larder.prefetch(url)
            #expect(try larder.run("pin", url).standardOutput == "pinned 1\n")
            let manifest = try #require(try larder.cat(url))
            let icons = try larder.run(
                "pin", "-", "--base-url", url, standardInput: Data(manifest))
            #expect(icons.standardOutput == "pinned 2\n", "\(icons)")
        }
    }
}
