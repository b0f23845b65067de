import Foundation
import LarderTestSupport
import Testing

/// A manifest's `key` is anything its writer likes, also another's URL: it must not answer for
/// that.
@Suite struct KeyNamespaceTests {
    /// A cache that has another origin's icon under a key that is the victim's URL.
    private struct Poisoned {
        let larder: CLIFixture
        let other: Origin
        let victim: String
        /// A manifest that names the victim by its URL.
        let honest: String
        /// The one that names it by a key.
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

    @Test func aKeyAnswersForNoURL() async throws {
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

    /// Nor is what the URL has used for an entry with that key.
    @Test func aURLAnswersForNoKey() async throws {
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
    func whatAURLKeepsIsNotWhatAKeyNames(_ option: String) async throws {
        try await withPoisoned { it in
            _ = try it.larder.prefetch(it.honest)
            let limit = option == "--keep" ? ["--max-count", "0"] : []
            let eviction = try it.larder.binary.run(
                ["evict", "--grace", "0", option, it.honest, "--cache", it.larder.cache] + limit)
            #expect([0, 2].contains(eviction.status), "\(eviction)")
            #expect(try it.larder.cat(it.victim) == it.icon)
            #expect(try it.larder.cat("key:\(it.victim)") == nil)
        }
    }

    @Test func pinsAreOfAURLOrOfAKey() async throws {
        try await withPoisoned { it in
            let larder = it.larder
            let key = "key:\(it.victim)"
            #expect(try larder.run("pin", it.victim).standardOutput == "pinned 1 (not cached)\n")
            _ = try larder.prefetch(it.honest)
            #expect(try larder.run("unpin", key).standardOutput == "unpinned 0\n")
            #expect(try larder.run("evict", "--max-count", "0").status == 2, "the pinned one stays")
            #expect(try larder.cat(it.victim) == it.icon)
            #expect(try larder.cat(key) == nil)

            _ = try larder.prefetch(it.hostile)
            // A manifest pins what its prefetch has stored.
            #expect(try larder.run("pin", it.hostile).standardOutput == "pinned 1\n")
            #expect(try larder.run("pin").standardOutput == "\(it.victim)\n\(key)\n".sortedLines)
            #expect(try larder.run("unpin", it.victim).standardOutput == "unpinned 1\n")
            #expect(try larder.run("evict", "--max-count", "0").status == 2, "the pinned one stays")
            #expect(try larder.cat(key) == it.planted)
            #expect(try larder.cat(it.victim) == nil)
            #expect(try larder.run("unpin", key).standardOutput == "unpinned 1\n")
            #expect(
                try larder.run("pin", "key:not-yet").standardOutput == "pinned 1 (not cached)\n")
        }
    }

    /// A list's URL as a key made the planted bytes the list itself.
    @Test func aKeyIsNoManifest() async throws {
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
                let finished = try larder.binary.run(command + ["--cache", larder.cache])
                #expect(finished.status == 66, "\(finished)")
            }
            larder.origin.on("/list.json", .ok("[]"))
            _ = try larder.prefetch(url)
            let request = try #require(larder.origin.requests.last)
            #expect(request.header("If-None-Match") == nil, "another's validator")
            #expect(try larder.run("plan", url).standardOutput.hasPrefix("0 entries"))
        }
    }

    /// A key that is the name of bytes gave other bytes that name.
    @Test func aKeyNamesNoBytes() async throws {
        try await withFixture { larder in
            let base64 = Data(Icons.png).base64EncodedString()
            let inline = try larder.manifest(
                [["icon": "data:image/png;base64,\(base64)"]], name: "inline.json")
            let name = try #require(try larder.prefetch(inline).line(1).url)
            let later = try withoutCache(larder)
            larder.origin.on("/E", Icons.reply(2))
            let hostile = try larder.manifest([["icon": larder.origin.url("/E"), "key": name]])
            #expect(try later.prefetch(hostile).outcomes == ["fetched"])
            #expect(try later.cat(name) == nil)
            #expect(try later.prefetch(inline).outcomes == ["fetched"])
            #expect(try later.cat(name) == Icons.png)
            #expect(try later.cat("key:\(name)") == Icons.icon(2))
        }
    }

    private func withoutCache(_ larder: CLIFixture) throws -> CLIFixture {
        try FileManager.default.removeItem(atPath: larder.cache)
        return larder
    }

    @Test func aFailureOfAKeyIsNoneOfAURL() async throws {
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

    /// What goes out names the key as its manifest has it, or as `path` and `cat` take it.
    @Test func outputsSayThatItIsAKey() async throws {
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

    /// A repair fetched by key what it had dropped, and made another key of it.
    @Test func aRepairKeepsTheNamespace() async throws {
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

    /// Scripts that name a key which is no URL need not say that it is one.
    @Test func aKeyThatIsNoURLNeedsNoPrefix() async throws {
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
