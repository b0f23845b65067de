import Foundation
import GRDB
import LarderTestSupport
import Testing

/// The commands `evict`, `pin` and `unpin`.
@Suite struct EvictTests {
    /// Fetches four icons and returns their URLs, the least recently used first.
    private func fill(_ larder: CLIFixture) throws -> [String] {
        let urls = larder.origin.serveIcons(4)
        for url in urls {
            let run = try larder.prefetch(try larder.manifest(url))
            try #require(run.status == 0, "\(run.finished)")
        }
        return urls
    }

    private func cached(_ larder: CLIFixture) throws -> Set<String> {
        let lines = try JSONValue.lines(larder.run("list", "--json").standardOutputBytes)
        return Set(lines.compactMap { $0["url"]?.string })
    }

    private func size(_ numbers: Int...) -> Int { numbers.reduce(0) { $0 + Icons.icon($1).count } }

    @Test func theLeastRecentlyUsedObjectIsEvictedFirst() async throws {
        try await withFixture { larder in
            let urls = try fill(larder)
            let limit = "\(size(1, 2, 3))B"
            let dry = try larder.run("evict", "--max-size", limit, "--dry-run")
            #expect(dry.status == 0, "\(dry)")
            let victim = "sha256:\(ReferenceSHA256.hex(Icons.icon(0)))\t\(size(0))\tsize\t"
            #expect(dry.standardOutput.hasPrefix(victim), "\(dry)")
            #expect(dry.standardOutput.contains("\t\(urls[0])\n"), "\(dry)")
            #expect(try larder.status().objects == 4)

            let finished = try larder.run("evict", "--max-size", limit)
            #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
            #expect(try cached(larder) == Set(urls[1...]))
            let counts = try larder.status()
            #expect((counts.objects, counts.bytes, counts.temporaries) == (3, size(1, 2, 3), 0))
            #expect(try larder.verify() == 0)
            larder.origin.resetLog()
            _ = try larder.prefetch(try larder.manifest(urls: urls))
            #expect(larder.origin.requests.map(\.path) == ["/0"])
        }
    }

    /// A set and a template lead to icons that the manifest does not name.
    @Test func evictAndPinReadAManifestWithTheOptionsOfThePrefetch() async throws {
        try await withFixture { larder in
            let other = larder.origin.serveIcons(2)[1]
            larder.origin.on("/home", Icons.reply(2))
            let text = #"[{"id": "0"}, {"icon": "mdi:home"}]"#
            let manifest = try larder.write(text.utf8, to: "index.json")
            let root = larder.origin.url("/")
            let options = [
                "--icon-key", "icon", "--icon-template", "\(root){id}", "--icon-set",
                "mdi=\(root){name}",
            ]
            let prefetch = try larder.prefetch(manifest, options: options)
            try #require(prefetch.outcomes == ["fetched", "fetched"], "\(prefetch.finished)")
            _ = try larder.prefetch(try larder.manifest(other))
            // The other icon was used last.
            let evict = try larder.run(
                arguments: ["evict", "--max-count", "2", "--keep", manifest] + options)
            #expect(evict.status == 0, "\(evict)")
            #expect(try cached(larder) == ["\(root)0", "\(root)home"])
            let pin = try larder.run(arguments: ["pin", manifest] + options)
            #expect(pin.standardOutput == "pinned 2\n", "\(pin)")
        }
    }

    /// The list has the lines of the remaining icons, and no others.
    @Test(arguments: [["--max-count", "2"], ["--only", "only.json"], ["--max-size", "0"]])
    func theListAfterAnEvictionHasTheRemainingIcons(_ limit: [String]) async throws {
        try await withFixture { larder in
            for (number, path) in ["/a", "/b", "/c", "/copy-of-b"].enumerated() {
                larder.origin.on(path, Icons.reply(number % 3 + number / 3))
                _ = try larder.prefetch(try larder.manifest(larder.origin.url(path)))
            }
            let only = try larder.manifest(larder.origin.url("/c"), name: "only.json")
            let list = try larder.run("list").standardOutput.split(separator: "\n")
            try #require(list.count == 4, "\(list)")
            let evict = try larder.run(
                arguments: ["evict"] + limit.map { $0 == "only.json" ? only : $0 })
            #expect(evict.status == 0, "\(evict)")
            // `/b` and `/copy-of-b` have the same object.
            let remaining: [String] =
                switch limit[0] {
                case "--max-count": ["/b", "/c", "/copy-of-b"]
                case "--only": ["/c"]
                default: []
                }
            let left = list.filter { line in
                remaining.contains { line.hasSuffix("\t" + larder.origin.url($0)) }
            }
            #expect(left.count == remaining.count)
            #expect(try larder.run("list").standardOutput.split(separator: "\n") == left)
            #expect(try larder.status().resources == remaining.count)
        }
    }

    /// Objects with several URLs and objects without a URL are listed, too.
    @Test func aDryRunListsTheObjectsToEvict() async throws {
        try await withFixture { larder in
            for path in ["/shared", "/copy", "/also"] { larder.origin.on(path, Icons.reply(0)) }
            larder.origin.on("/signed", Icons.reply(1))
            larder.origin.on("/lost", Icons.reply(2))
            larder.origin.on("/old?token=sEcReT", Icons.reply(3))
            func url(_ path: String) -> String { larder.origin.url(path) }
            let manifest = try larder.manifest([
                ["icon": url("/shared")], ["icon": url("/copy")], ["icon": url("/also")],
                ["icon": url("/signed?Policy=sEcReT"), "key": "notes"], ["icon": url("/lost")],
                ["icon": url("/old?token=sEcReT")],
            ])
            let prefetch = try larder.prefetch(manifest, options: ["--max-concurrent", "1"])
            try #require(prefetch.status == 0, "\(prefetch.finished)")
            let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
            try await index.write { db in
                try db.execute(literal: "DELETE FROM resources WHERE key LIKE '%/lost'")
                for (number, age) in [2_629_000, 90_000, 7_260, 0].enumerated() {
                    let digest = Data(ReferenceSHA256.digest(Icons.icon(number)))
                    try db.execute(
                        literal: """
                            UPDATE objects SET used_at = unixepoch() - \(age)
                            WHERE digest = \(digest)
                            """)
                }
                // A time from a clock that was wrong.
                try db.execute(
                    literal: """
                        UPDATE objects SET used_at = 86400 WHERE used_at > unixepoch() - 60
                        """)
            }
            try index.close()

            let options = ["evict", "--max-size", "0", "--max-age", "30d", "--dry-run"]
            let dry = try larder.run(arguments: options)
            #expect(dry.status == 0, "\(dry)")
            let shown = dry.standardOutput.split(separator: "\n").prefix(4).map {
                $0.split(separator: "\t").dropFirst().map(String.init)
            }
            #expect(
                shown == [
                    ["\(size(0))", "age", "30 d 10 h", url("/shared"), "and 2 more"],
                    ["\(size(1))", "size", "25 h 0 min", url("/signed?***")],
                    ["\(size(2))", "size", "2 h 1 min", "(no URL)"],
                    ["\(size(3))", "size", "0.0 s", url("/old?token=***")],
                ], "\(dry)")

            let json = try larder.run(arguments: options + ["--json"])
            let lines = try JSONValue.lines(json.standardOutputBytes)
            #expect(lines.count == 5)
            #expect(lines.map { $0["urls"]?.integer } == [3, 1, 0, 1, nil])
            #expect(
                lines.map { $0["url"] } == [
                    .string(url("/shared")), .string(url("/signed?***")), .null,
                    .string(url("/old?token=***")), nil,
                ])
            #expect(lines.map { $0["key"] } == [.null, .string("key:notes"), .null, .null, nil])
            #expect(lines[3]["age"] == .integer(0) || lines[3]["age"] == .number(0), "\(lines)")
            #expect(!"\(dry)\(json)".contains("sEcReT"))
        }
    }

    @Test func iconsOfKeptManifestsAreNotEvicted() async throws {
        try await withFixture { larder in
            let urls = try fill(larder)
            let (a, b) = (
                try larder.manifest(urls[0], name: "a.json"),
                try larder.manifest(urls[2], larder.origin.url("/unknown"), name: "b.json")
            )
            let finished = try larder.run("evict", "--max-count", "2", "--keep", a, "--keep", b)
            #expect(finished.status == 0, "\(finished)")
            #expect(try cached(larder) == [urls[0], urls[2]])
            let more = try larder.run("evict", "--max-count", "1", "--keep", a, "--keep", b, "-q")
            #expect(more.status == 2 && more.standardOutput.isEmpty, "\(more)")
            #expect(
                more.standardError
                    == "larder: limit not met: too many objects; 1 object is protected\n"
            )
            #expect(try cached(larder) == [urls[0], urls[2]])
        }
    }

    @Test func evictWithOnlyKeepsTheIconsOfTheManifest() async throws {
        try await withFixture { larder in
            let urls = try fill(larder)
            let only = try larder.manifest(
                [["icon": "3"], ["icon": urls[1]]], name: "only.json")
            // Nothing is removed if the base of a relative URL is unknown.
            let vague = try larder.run("evict", "--only", only)
            #expect(vague.status == 65, "\(vague)")
            #expect(vague.standardError.contains("only.json: entry 1: the URL is relative"))
            #expect(try cached(larder) == Set(urls))
            let finished = try larder.run(
                "evict", "--only", only, "--base-url", larder.origin.url("/"))
            #expect(finished.status == 0, "\(finished)")
            #expect(try cached(larder) == [urls[1], urls[3]])
        }
    }

    @Test(arguments: [("{", Int32(65)), (nil, 66)])
    func anUnreadableManifestEvictsNothing(_ text: String?, status: Int32) async throws {
        try await withFixture { larder in
            let urls = try fill(larder)
            let path = larder.directory.path("broken.json")
            if let text { _ = try larder.write(text.utf8, to: "broken.json") }
            let finished = try larder.run("evict", "--max-size", "0", "--keep", path)
            #expect(finished.status == status, "\(finished)")
            #expect(try cached(larder) == Set(urls))
        }
    }

    @Test func pinnedIconsAreNotEvicted() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            let manifest = try larder.manifest(urls[2], name: "pins.json")
            // The cache does not exist yet, and a URL can have any spelling.
            #expect(
                try larder.run("pin", urls[0] + "#top", manifest).standardOutput
                    == "pinned 2 (not cached)\n")
            #expect(try larder.run("pin").standardOutput == "\(urls[0])\n\(urls[2])\n")
            _ = try fill(larder)
            #expect(try larder.run("evict", "--max-count", "2").status == 0)
            #expect(try cached(larder) == [urls[0], urls[2]])
            #expect(try larder.run("unpin", urls[0]).standardOutput == "unpinned 1\n")
            #expect(try larder.run("evict", "--max-count", "0").status == 2)
            #expect(try cached(larder) == [urls[2]])
            #expect(try larder.run("unpin", "--all").standardOutput == "unpinned 1\n")
            #expect(try larder.run("evict", "--max-count", "0").status == 0)
            #expect(try cached(larder).isEmpty)
        }
    }

    @Test(.timeLimit(.minutes(30))) func iconsOfARunningPrefetchAreNotEvicted() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(60)
            let old = try larder.manifest(urls: Array(urls[..<20]), name: "old.json")
            #expect(try larder.prefetch(old).status == 0)
            let gate = try Gate()
            larder.origin.on("/gated", Icons.reply(1_000).heldBy(gate))
            let last = larder.origin.url("/gated")
            let manifest = try larder.manifest(urls: urls[20...] + [last], name: "new.json")
            let report = larder.directory.path("new.jsonl")
            let process = try larder.startPrefetch(manifest, report: report)
            // The last entry keeps the prefetch running during the evictions.
            var rounds = 0
            while try larder.status().resources < 60 - 20 || rounds < 5 {
                // Without a grace period, files whose rows are not committed yet are removed, too,
                // and fetched again.
                let grace = rounds < 3 ? "0" : "1h"
                let evict = try larder.run("evict", "--max-count", "0", "--grace", grace)
                #expect([0, 2].contains(evict.status), "\(evict)")
                rounds += 1
            }
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.summary.fetched == 41)
            #expect(try cached(larder) == Set(urls[20...] + [last]))
            #expect(try larder.verify() == 0)
        }
    }

    /// Each eviction removes most icons, and each prefetch downloads them again.
    @Test(.timeLimit(.minutes(30)))
    func concurrentEvictionsAndPrefetchesKeepTheCacheValid() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(80))
            mkdir(larder.cache, 0o700)
            var prefetches: [(process: RunningProcess, report: String)] = []
            for round in 0..<6 {
                let report = larder.directory.path("\(round).jsonl")
                prefetches.append((try larder.startPrefetch(manifest, report: report), report))
                // The prefetch may not have initialized the cache yet. It is read as empty.
                let evict = try larder.run("evict", "--max-count", "10")
                #expect([0, 2].contains(evict.status), "\(evict)")
                #expect(try larder.verify() == 0)
                guard prefetches.count == 2 else { continue }
                let first = prefetches.removeFirst()
                let run = try PrefetchRun(first.process.wait(), report: first.report)
                #expect(run.status == 0, "\(run.finished)")
            }
            for last in prefetches { #expect(try last.process.wait().status == 0) }
            #expect(try larder.run("evict", "--max-count", "10", "--grace", "0").status == 0)
            let verify = try larder.run("verify", "--json")
            let report = try #require(try JSONValue.lines(verify.standardOutputBytes).first)
            #expect(report["findings"] == .array([]) && report["objects"] == .integer(10))
            #expect(try larder.status().objects == 10)
        }
    }

    @Test(.enabled(if: Mount.isPossible)) func evictionFreesTheRequestedSpace() async throws {
        try await withFixture { larder in
            let mount = try Mount.memory(at: larder.cache, size: "8m")
            defer { mount.remove() }
            let urls = (0..<6).map { number in
                let bytes = Icons.icon(number) + [UInt8](repeating: 0x20, count: 500_000)
                larder.origin.on("/big/\(number)", .ok(bytes))
                return larder.origin.url("/big/\(number)")
            }
            for url in urls {
                #expect(
                    try larder.prefetch(larder.manifest(url), options: ["--any-content"]).status
                        == 0)
            }
            let finished = try larder.run("evict", "--min-free", "6MiB", "--json")
            #expect(finished.status == 0, "\(finished)")
            var status = statvfs()
            #expect(statvfs(larder.cache, &status) == 0)
            #expect(Int(status.f_bavail) * Int(status.f_frsize) >= 6 << 20)
            let left = try larder.status().objects
            #expect(left > 0 && left < 6)
            #expect(try cached(larder) == Set(urls.suffix(left)))
            // More than the size of the file system.
            let absurd = try larder.run("evict", "--min-free", "1TB")
            #expect(
                absurd.status == 64 && absurd.standardError.contains("8388608 bytes"), "\(absurd)")
            #expect(try larder.status().objects == left)
        }
    }

    /// An unusable entry could name an icon that should be kept.
    @Test func evictWithOnlyRefusesAManifestWithUnusableEntries() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let broken = try larder.write(
                "[{\"icon\": \"\(urls[0])\"}, {\"icon\": \"ftp://a.example/b\"}]".utf8,
                to: "broken.json")
            for options in [["--dry-run"], []] {
                let evict = try larder.run(arguments: ["evict", "--only", broken] + options)
                #expect(evict.status == 65, "\(evict)")
                #expect(evict.standardError.contains("entry 2"), "\(evict)")
            }
            #expect(try larder.status().objects == 3)
        }
    }

    @Test func evictWithOnlyRefusesAnEmptyManifest() async throws {
        try await withFixture { larder in
            let urls = try fill(larder)
            let none = try larder.manifest([], name: "none.json")
            let finished = try larder.run("evict", "--only", none)
            #expect(finished.status == 65, "\(finished)")
            #expect(finished.standardError.contains("none.json"), "\(finished)")
            #expect(try cached(larder) == Set(urls))
        }
    }

    @Test func anEntryWithAKeyIsPinnedByItsKey() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(2)[1]
            let manifest = try larder.manifest([["icon": url, "key": "icon-one"]])
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(try larder.run("pin", "icon-one").standardOutput == "pinned 1\n")
            // Only the pin of the key protects the icon, because its URL is not its key.
            #expect(try larder.run("pin", url).standardOutput == "pinned 1 (not cached)\n")
            #expect(try larder.run("evict", "--max-count", "0").status == 2)
            #expect(try larder.run("unpin", "icon-one").standardOutput == "unpinned 1\n")
            #expect(try larder.run("pin", "icon-two").status == 66)
            #expect(try larder.run("evict", "--max-count", "0").status == 0)
        }
    }
}
