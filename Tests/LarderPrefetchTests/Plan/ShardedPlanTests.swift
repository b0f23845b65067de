import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest
@testable import LarderPrefetch

/// Plans of the same manifest by the workers of a fleet.
@Suite struct ShardedPlanTests {
    private static let apps = """
        [{"name": "several", "icons": [{"src": "http://a.example/1"}, {"src": "https://b.example/2"},
            {"src": "https://d.example/3"}]},
         {"name": "again", "icon": "http://A.example:80/1"},
         {"name": "named", "icon": "https://d.example/4?signature=1", "key": "d"},
         {"name": "split 1", "icon": "https://cdn.example.com/1.png"},
         {"name": "split 2", "icon": "https://cdn.example.com/2.png"},
         {"name": "split 3", "icon": "https://cdn.example.com/3.png"},
         {"name": "inline", "icon": "data:image/gif;base64,R0lGODlhAQABAAAAACw="},
         {"name": "none"}, {"name": "bad", "icon": "javascript:alert(1)"}, {"icon": 7}]
        """

    private func plan(
        _ shard: Shard?
    ) throws -> (summary: PlanSummary, rows: [String]) {
        var rules = ManifestRules()
        rules.iconKeys = try ["icon", "icons[*].src"].map { try ManifestPath($0) }
        var rows: [String] = []
        let summary = try Planner(cache: nil, rules: rules, shard: shard).plan(
            [.bytes(Array(Self.apps.utf8), name: "test")]
        ) { rows.append("\($0.position) \($0.icon) \($0.isDuplicate) \($0.url ?? "-")") }
        return (summary, rows)
    }

    @Test(arguments: [1, 2, 3, 5, 256])
    func allShardsTogetherCoverThePlan(_ count: Int) throws {
        let split = try #require(HostSplit(host: "cdn.example.com", pieces: 3))
        let whole = try plan(nil)
        #expect(whole.summary.otherShards == 0 && whole.rows.count == whole.summary.icons)
        #expect(whole.summary.icons == 12 && whole.summary.entries == 10)
        for splits in [[], [split]] {
            let plans = try (0..<count).map {
                try plan(Shard($0, of: count, splits: splits))
            }
            #expect(plans.flatMap(\.rows).sorted() == whole.rows.sorted())
            for path in [
                \PlanSummary.entries, \.icons, \.urls, \.missing, \.skipped, \.failed, \.insecure,
                \.unsupported,
            ] {
                #expect(
                    plans.map { $0.summary[keyPath: path] }.reduce(0, +)
                        == whole.summary[keyPath: path])
            }
            for (summary, rows) in plans {
                #expect(rows.count == summary.icons)
                #expect(summary.icons + summary.otherShards == whole.summary.icons)
                #expect(summary.manifests == whole.summary.manifests)
            }
        }
    }

    /// Worker 0 of 2 has the even parts. cdn.example.com has part 208. a.example (85), b.example
    /// (211) and d.example (9) belong to worker 1.
    @Test func aShardPlansOnlyItsOwnIcons() throws {
        let own = try plan(Shard(0, of: 2)).rows
        #expect(own.filter { $0.contains("cdn.example.com") }.count == 3)
        #expect(!own.contains { $0.contains("//a.") || $0.contains("//b.") || $0.contains("//d.") })
        #expect(own.filter { $0.hasSuffix("-") }.count == 3)
        let others = try plan(Shard(1, of: 2)).rows
        #expect(others.contains("1 2 false https://b.example/2"))
        #expect(others.contains("2 1 true http://a.example/1"))
        #expect(!others.contains { $0.hasSuffix("-") })
    }

    /// A partial lock could be mistaken for a complete one.
    @Test(arguments: [(1, true), (2, false)])
    func onlyAnUnshardedRunWritesALock(_ count: Int, _ isLocked: Bool) async throws {
        let origin = try Origin()
        origin.onAny { _ in .ok(IconPainter.png(seed: 1)) }
        try await withTemporaryDirectory { directory in
            let urls = [origin.url("/1"), origin.url("/1", host: "localhost")]
            // These hosts have the parts 160 and 99.
            let (report, _) = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.shard = Shard(0, of: count)
                $0.onLocked = { _ in }
            }
            #expect(report.isLocked == isLocked)
            #expect(report.icons == 2 / count && report.plan.otherShards == 2 - 2 / count)
            #expect(report.failure == nil && report.count(.fetched) == 2 / count)
        }
    }
}
