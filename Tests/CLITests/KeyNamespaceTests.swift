import Foundation
import LarderTestSupport
import Testing

/// Keys that are equal to URLs. A manifest can use any text as a key, including a URL of another
/// origin. An icon with such a key must not be used for the URL.
@Suite struct KeyNamespaceTests {
    /// A cache with an icon of another origin, whose key is the URL of the victim's icon.
    private struct Poisoned {
        let larder: CLIFixture
        let other: Origin
        let victim: String
        /// A manifest with the victim's URL.
        let honest: String
        /// A manifest that uses the victim's URL as the key of another icon.
        let hostile: String
        let icon = Icons.icon(1)
        let planted = Icons.icon(2)
    }

    private func withPoisoned(_ body: (Poisoned) throws -> Void) async throws {
        try await withFixture { larder in
            let other = try Origin()
            other.on("/E", Icons.reply(2).header("Cache-Control", "max-age=3600"))
            larder.origin.on(
                "/victim", Icons.reply(1).header("Cache-Control", "max-age=3600"))
            let victim = larder.origin.url("/victim")
            let hostile = try larder.manifest(
                [["icon": other.url("/E"), "key": victim]], name: "hostile.json")
            #expect(try larder.prefetch(hostile).outcomes == ["fetched"])
            try body(
                Poisoned(
                    larder: larder, other: other, victim: victim,
                    honest: try larder.manifest(victim, name: "honest.json"), hostile: hostile))
        }
    }

    @Test func aKeyIsNotUsedForAnEqualURL() async throws {
        try await withPoisoned { it in
            let larder = it.larder
            for command in ["cat", "path"] {
                #expect(try larder.run(command, it.victim).status == 2)
                #expect(try larder.run(command, "key:\(it.victim)").status == 0)
            }
            #expect(try larder.cat("key:\(it.victim)") == it.planted)
            let plan = try larder.run("plan", it.honest)
            #expect(plan.standardOutput.contains("missing 1"), "\(plan)")
            #expect(try larder.run("verify", "--manifest", it.honest).status == 2)
            #expect(try larder.prefetch(it.honest, options: ["--offline"]).outcomes == ["failed"])

            #expect(try larder.prefetch(it.honest).outcomes == ["fetched"])
            #expect(try larder.cat(it.victim) == it.icon)
            #expect(try larder.cat("key:\(it.victim)") == it.planted)
            #expect(try larder.run("verify", "--manifest", it.honest).status == 0)
            #expect(try larder.prefetch(it.honest, it.hostile).outcomes == ["cached", "cached"])
            #expect(it.other.count() == 1 && larder.origin.count() == 1)
        }
    }

    @Test func aURLIsNotUsedForAnEqualKey() async throws {
        try await withPoisoned { it in
            _ = try it.larder.prefetch(it.honest)
            let renamed = try it.larder.manifest(
                [["icon": it.other.url("/E"), "key": it.victim + "?2"]], name: "renamed.json")
            it.larder.origin.on("/victim?2", Icons.reply(3))
            _ = try it.larder.prefetch(try it.larder.manifest(it.victim + "?2"))
            let plan = try it.larder.run("plan", renamed)
            #expect(plan.standardOutput.contains("missing 1"), "\(plan)")
            #expect(try it.larder.run("verify", "--manifest", renamed).status == 2)
        }
    }

    @Test(arguments: ["--keep", "--only"])
    func keepingAURLDoesNotKeepAnEqualKey(_ option: String) async throws {
        try await withPoisoned { it in
            _ = try it.larder.prefetch(it.honest)
            let limit = option == "--keep" ? ["--max-count", "0"] : []
            let eviction = try it.larder.run(
                arguments: ["evict", "--grace", "0", option, it.honest] + limit)
            #expect([0, 2].contains(eviction.status), "\(eviction)")
            #expect(try it.larder.cat(it.victim) == it.icon)
            #expect(try it.larder.cat("key:\(it.victim)") == nil)
        }
    }

    @Test func pinsDistinguishKeysFromURLs() async throws {
        try await withPoisoned { it in
            let larder = it.larder
            let key = "key:\(it.victim)"
            #expect(try larder.run("pin", it.victim).standardOutput == "pinned 1 (not cached)\n")
            _ = try larder.prefetch(it.honest)
            #expect(try larder.run("unpin", key).standardOutput == "unpinned 0\n")
            #expect(
                try larder.run("evict", "--max-count", "0").status == 2, "the pinned icon stays")
            #expect(try larder.cat(it.victim) == it.icon)
            #expect(try larder.cat(key) == nil)

            _ = try larder.prefetch(it.hostile)
            // Pinning a manifest pins its entries by their keys.
            #expect(try larder.run("pin", it.hostile).standardOutput == "pinned 1\n")
            #expect(try larder.run("pin").standardOutput == "\(it.victim)\n\(key)\n".sortedLines)
            #expect(try larder.run("unpin", it.victim).standardOutput == "unpinned 1\n")
            #expect(
                try larder.run("evict", "--max-count", "0").status == 2, "the pinned icon stays")
            #expect(try larder.cat(key) == it.planted)
            #expect(try larder.cat(it.victim) == nil)
            #expect(try larder.run("unpin", key).standardOutput == "unpinned 1\n")
            #expect(
                try larder.run("pin", "key:not-yet").standardOutput == "pinned 1 (not cached)\n")
        }
    }

    /// If the key is the URL of a manifest, the planted bytes must not be read as that manifest.
    @Test func aKeyIsNotUsedAsAManifest() async throws {
        try await withFixture { larder in
            let other = try Origin()
            let url = larder.origin.url("/list.json")
            other.on(
                "/E",
                .ok(#"[{"icon": "http://planted.example/"}]"#).header("ETag", "\"planted\"")
                    .header("Cache-Control", "max-age=3600"))
            let hostile = try larder.manifest(
                [["icon": other.url("/E"), "key": url]], name: "hostile.json")
            #expect(
                try larder.prefetch(hostile, options: ["--any-content"]).outcomes == ["fetched"])
            for command in [
                ["plan", url], ["prefetch", url, "--offline"], ["verify", "--manifest", url],
                ["evict", "--max-count", "0", "--keep", url], ["evict", "--only", url],
            ] {
                let finished = try larder.run(arguments: command)
                #expect(finished.status == 66, "\(finished)")
            }
            larder.origin.on("/list.json", .ok("[]"))
            _ = try larder.prefetch(url)
            let request = try #require(larder.origin.requests.last)
            #expect(request.header("If-None-Match") == nil, "the validator of the planted object")
            #expect(try larder.run("plan", url).standardOutput.hasPrefix("0 entries"))
        }
    }

    /// An icon whose key equals the name of an inline icon must not be used in its place.
    @Test func aKeyIsNotUsedAsAnInlineIcon() async throws {
        try await withFixture { larder in
            let base64 = Data(Icons.png).base64EncodedString()
            let inline = try larder.manifest(
                [["icon": "data:image/png;base64,\(base64)"]], name: "inline.json")
            let name = try #require(try larder.prefetch(inline).line(1).url)
            try FileManager.default.removeItem(atPath: larder.cache)
            larder.origin.on("/E", Icons.reply(2))
            let hostile = try larder.manifest([["icon": larder.origin.url("/E"), "key": name]])
            #expect(try larder.prefetch(hostile).outcomes == ["fetched"])
            #expect(try larder.cat(name) == nil)
            #expect(try larder.prefetch(inline).outcomes == ["fetched"])
            #expect(try larder.cat(name) == Icons.png)
            #expect(try larder.cat("key:\(name)") == Icons.icon(2))
        }
    }

    @Test func aFailureOfAKeyIsNotRememberedForAnEqualURL() async throws {
        try await withFixture { larder in
            let other = try Origin()
            let urls = larder.origin.serveIcons(1)
            let hostile = try larder.manifest(
                [["icon": other.url("/gone"), "key": urls[0]]], name: "hostile.json")
            other.on("/gone", .status(404))
            #expect(try larder.prefetch(hostile).outcomes == ["failed"])
            #expect(try larder.run("plan", hostile).standardOutput.contains("failed"))
            let plan = try larder.run("plan", try larder.manifest(urls[0]))
            #expect(!plan.standardOutput.contains("404"), "\(plan)")
        }
    }

    /// A list has the form that `path` and `cat` accept, a lock file the key of the manifest.
    @Test func listsAndLockFilesDistinguishKeysFromURLs() async throws {
        try await withPoisoned { it in
            let list = try it.larder.run("list", "--json")
            let line = try #require(JSONValue.lines(list.standardOutputBytes).first)
            #expect(line["key"] == .string("key:\(it.victim)"))
            #expect(line["url"] == .string(it.other.url("/E")))
            let lock = it.larder.directory.path("lock.json")
            _ = try it.larder.prefetch(it.hostile, options: ["--write-lock", lock])
            let text = try String(contentsOfFile: lock, encoding: .utf8)
            #expect(text.contains(#""key":"\#(it.victim)""#), "\(text)")
            #expect(try it.larder.prefetch(lock).outcomes == ["cached"])
        }
    }

    /// A repair once stored the downloaded icon under a different key.
    @Test func aRepairedIconKeepsItsKey() async throws {
        try await withPoisoned { it in
            let larder = it.larder
            let path = try larder.objectPath("key:\(it.victim)")
            try FileManager.default.removeItem(atPath: path)
            let repair = try larder.run("verify", "--repair", "--allow-private-network", "--json")
            #expect(repair.status == 0, "\(repair)")
            #expect(try larder.cat("key:\(it.victim)") == it.planted)
            #expect(try larder.cat(it.victim) == nil)
            #expect(try larder.status().resources == 1)
        }
    }

    @Test func aKeyThatIsNotAURLNeedsNoPrefix() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest([["icon": url, "key": "logo"]]))
            for spelling in ["logo", "key:logo"] {
                #expect(try larder.cat(spelling) == Icons.icon(0))
            }
            #expect(try larder.cat("key:key:logo") == nil)
        }
    }
}

extension String {
    fileprivate var sortedLines: String {
        split(separator: "\n").sorted().map { $0 + "\n" }.joined()
    }
}
