import Foundation
import LarderCache
import LarderTestSupport
import Testing

/// Four prefetchers, readers, verifications, evictions and status reports on one cache at once.
///
/// `LARDER_CROWD_SECONDS` sets the duration in seconds (default: 60). `LARDER_CROWD_SEED` repeats
/// the random choices of a run, but not their timing.
@Suite struct CrowdTests {
    @Test(.timeLimit(.minutes(60))) func concurrentUseLosesAndCorruptsNothing() async throws {
        let seconds = testSetting("LARDER_CROWD_SECONDS") ?? share(of: 60)
        let seed = testSetting("LARDER_CROWD_SEED") ?? .random(in: 0...Int(UInt32.max))
        try await withFixture { larder in
            let crowd = try Crowd(larder, seconds: seconds)
            let kept = crowd.icons.kept
            let all = try larder.manifest(urls: kept, name: "kept.json")
            #expect(try larder.prefetch(all).summary.fetched == kept.count)
            let half = kept.count / 2
            let named = try larder.manifest(urls: Array(kept[..<half]), name: "named.json")
            let pinned = try larder.manifest(urls: Array(kept[half...]), name: "pinned.json")
            #expect(try larder.run("pin", pinned).status == 0)
            crowd.icons.origin.resetLog()

            try await withThrowingTaskGroup(of: Void.self) { group in
                func join(_ name: String, _ command: @escaping Crowd.Command) {
                    let seed = seed &+ name.utf8.reduce(0) { $0 &* 31 &+ Int($1) }
                    group.addTask { try await crowd.run(name, seed: seed, command) }
                }
                for member in 0..<4 {
                    join("prefetch \(member)", try crowd.prefetch(member: member))
                }
                join("verify", crowd.verify)
                join("evict", crowd.evict(keeping: named))
                join("status", crowd.status)
                join("list, cat, path", crowd.readListed)
                for member in 0..<2 { join("reader \(member)", try crowd.read()) }
                try await group.waitForAll()
            }
            let counts = crowd.counts.sorted { $0.key < $1.key }.map { "\($0.value) \($0.key)" }
            print("seed \(seed), \(seconds) s: \(counts.joined(separator: "; "))")
            for failure in crowd.failures { Issue.record("\(failure)") }
            #expect(crowd.counts["evicted", default: 0] > 0)
            // The kept icons stay fresh and in the cache, so they are never requested again.
            #expect(!crowd.icons.origin.requests.contains { $0.path.hasPrefix("/kept/") })
            try expectCleanCache(larder, crowd)
        }
    }

    /// Expects no findings, no leftovers, and index totals that match the files.
    private func expectCleanCache(_ larder: CLIFixture, _ crowd: Crowd) throws {
        let evict = try larder.run("evict", "--grace", "0")
        #expect(evict.status == 0, "\(evict)")
        let cache = try Cache.open(at: larder.cache)
        let report = try cache.verify()
        #expect(report.findings.isEmpty, "\(report.findings)")
        #expect(report.indexObjects == report.treeObjects)
        #expect(report.indexBytes == report.treeBytes)
        #expect(report.temporaries == 0)
        for url in crowd.icons.kept {
            let resource = try #require(try cache.resource(url))
            #expect(crowd.icons.hasServed(try cache.bytes(of: resource.object), at: url))
        }
        try cache.forEachResource { resource in
            let isRight = crowd.icons.hasServed(
                try cache.bytes(of: resource.object), at: resource.url)
            #expect(isRight, "\(resource.url)")
        }
    }
}
