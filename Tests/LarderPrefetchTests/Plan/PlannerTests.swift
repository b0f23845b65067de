import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderManifest
@testable import LarderPrefetch

@Suite struct PlannerTests {
    @Test func aPlanFoldsDuplicatesAndOrdersByPriorityThenPosition() throws {
        let entries = try plan(
            #"""
            [{"name": "a", "icon": "http://h/a"},
             {"name": "b", "icon": "http://h/b", "priority": "low"},
             {"name": "c", "icon": "http://h/c", "priority": 4},
             {"name": "d", "icon": "http://h/d"},
             {"name": "b again", "icon": "HTTP://H:80/b", "priority": "veryHigh"}]
            """#
        ).entries
        #expect(entries.map(\.name) == ["b", "b again", "c", "a", "d"])
        #expect(entries.map(\.isDuplicate) == [false, true, false, false, false])
        // The folded URL is fetched with the highest priority that any of its entries has.
        #expect(entries.map(\.priority) == [8, 8, 4, 0, 0])
    }

    @Test func aPlanCountsItsWork() throws {
        let summary = try plan(
            #"""
            [{"name": "a", "icon": "http://h/a"}, {"name": "a", "icon": "http://h/a"},
             {"name": "none"}, {"name": "bad", "icon": "javascript:alert(1)"}]
            """#
        ).summary
        var expected = PlanSummary()
        expected.entries = 4
        expected.urls = 1
        expected.missing = 1
        expected.skipped = 2
        expected.icons = 4
        expected.insecure = 2
        expected.unfetched = ["other-scheme": 1]
        expected.manifests = summary.manifests
        #expect(summary == expected)
    }

    @Test func entriesWithTheSameKeyAndDifferentURLsShareOneFetch() throws {
        let entries = try plan(
            #"[{"name": "a", "icon": "http://h/a?signature=1", "key": "icon-a"}]"#,
            #"[{"name": "a", "icon": "http://h/a?signature=2", "key": "icon-a"}]"#
        ).entries
        #expect(entries.map(\.isDuplicate) == [false, true])
    }

    @Test func aKeyWithTwoURLsInOneManifestIsAConflict() throws {
        let (summary, entries) = try plan(
            #"""
            [{"icon": "http://h/a?1", "key": "a"}, {"icon": "http://h/a?1", "key": "a"},
             {"icon": "http://h/a?2", "key": "a"}, {"icon": "data:,x", "key": "a"},
             {"icon": "http://h/b", "key": "b"}]
            """#,
            #"[{"icon": "http://h/a?3", "key": "a"}, {"icon": "http://h/a?1", "key": "a"}]"#)
        let conflicts = entries.filter { $0.failure?.code == "key-conflict" }
        #expect(conflicts.map(\.position) == [3, 4, 2])
        #expect(
            conflicts.allSatisfy {
                $0.failure?.message.hasSuffix(
                    "key 'a' is already used by entry 1 for another icon") ?? false
            })
        #expect((summary.urls, summary.failed, summary.icons) == (2, 3, 7))
    }

    @Test func differentSpellingsOfAURLDoNotConflict() throws {
        let (summary, entries) = try plan(
            #"""
            [{"icon": "http://h/%7ea|"}, {"icon": "http://h/~a%7c"}, {"icon": "HTTP://H:80/~%61|"},
             {"icon": "http://h/b?1%7c", "key": "b"}, {"icon": "http://h/b?1|", "key": "b"}]
            """#)
        #expect((summary.urls, summary.failed, summary.icons) == (2, 0, 5))
        #expect(entries.map(\.isDuplicate) == [false, true, true, false, true])
    }

    @Test func aPlanMasksCredentialsInURLs() throws {
        let entries = try plan(#"[{"name": "a", "icon": "http://user:secret@h/a"}]"#).entries
        let url = try #require(entries.first?.url)
        #expect(!url.contains("secret") && url.hasSuffix("@h/a"))
    }

    @Test func aPlanReportsThePositionAndReasonOfABadEntry() throws {
        let entries = try plan(
            #"[{"name": "ok", "icon": "http://h/a"}, {"name": "bad", "icon": 7}]"#
        ).entries
        let bad = try #require(entries.first { $0.failure != nil })
        #expect(bad.position == 2)
        #expect(bad.failure?.code == "icon-not-a-string")
    }

    @Test func aPlanDistinguishesCachedStaleAndMissingIcons() async throws {
        let origin = try Origin()
        origin.on("/fresh", .ok(IconPainter.png(seed: 1)).header("Cache-Control", "max-age=3600"))
        origin.on("/stale", .ok(IconPainter.png(seed: 2)).header("Cache-Control", "max-age=0"))
        try await withTemporaryDirectory { directory in
            let manifest = """
                [{"icon": "\(origin.url("/fresh"))"}, {"icon": "\(origin.url("/stale"))"},
                 {"icon": "\(origin.url("/new"))"}]
                """
            let path = directory.path("cache")
            _ = try await prefetch(
                """
                [{"icon": "\(origin.url("/fresh"))"}, {"icon": "\(origin.url("/stale"))"}]
                """, into: path)
            let (summary, entries) = try plan(manifest, cache: Cache.open(at: path))
            #expect((summary.cached, summary.stale, summary.missing) == (1, 1, 1))
            #expect(Set(entries.map(\.statusWord)) == ["cached", "stale", "missing"])
        }
    }

    @Test func anObjectDeletedByHandIsMissing() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(IconPainter.png(seed: 1)).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let manifest = #"[{"icon": "\#(origin.url("/a"))"}]"#
            _ = try await prefetch(manifest, into: path)
            let cache = try Cache.open(at: path)
            #expect(try plan(manifest, cache: cache).summary.cached == 1)
            let object = try #require(try cache.resource(origin.url("/a"))).object
            try FileManager.default.removeItem(atPath: cache.absolutePath(of: object.digest))
            #expect(try plan(manifest, cache: cache).summary.missing == 1)
        }
    }

    @Test func cachedBytesThatDoNotMatchAnEntryAreMissing() async throws {
        let origin = try Origin()
        origin.on("/a", .ok(IconPainter.png(seed: 1)).header("Cache-Control", "max-age=3600"))
        try await withTemporaryDirectory { directory in
            let path = directory.path("cache")
            let url = origin.url("/a")
            _ = try await prefetch(#"[{"icon": "\#(url)"}]"#, into: path)
            let cache = try Cache.open(at: path)
            let object = try #require(try cache.resource(url)).object
            let right = #"[{"icon": "\#(url)", "sha256": "\#(object.digest.hex)"}]"#
            #expect(try plan(right, cache: cache).summary.cached == 1)
            let other = String(repeating: "0", count: 64)
            let wrong = #"[{"icon": "\#(url)"}, {"icon": "\#(url)", "sha256": "\#(other)"}]"#
            #expect(try plan(wrong, cache: cache).summary.missing == 1)
            let short = #"[{"icon": "\#(url)", "size": \#(object.size - 1)}]"#
            #expect(try plan(short, cache: cache).summary.missing == 1)
        }
    }

    private func plan(
        _ manifests: String..., cache: Cache? = nil
    ) throws -> (summary: PlanSummary, entries: [PlannedEntry]) {
        var entries: [PlannedEntry] = []
        let sources = manifests.map { ManifestSource.bytes(Array($0.utf8), name: "test") }
        let summary = try Planner(cache: cache).plan(sources) { entries.append($0) }
        return (summary, entries)
    }
}
