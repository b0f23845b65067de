import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// How long commits of other processes wait for an eviction.
///
/// `LARDER_STALL_OBJECTS` sets the number of evicted objects (default: 5,000) and turns on the
/// limit of 100 ms. Without it, the limit is one second, because other work slows the machine down.
@Suite struct EvictionStallTests {
    @Test(.timeLimit(.minutes(30))) func writersDoNotWaitForAnEviction() async throws {
        let environment = ProcessInfo.processInfo.environment
        let wanted = environment["LARDER_STALL_OBJECTS"].flatMap { Int($0) }
        let objects = wanted ?? 5_000
        try await withTemporaryDirectory { directory in
            let scene = try EvictionScene(directory)
            for start in stride(from: 0, to: objects, by: 5_000) {
                try scene.store(
                    (start..<min(start + 5_000, objects)).map {
                        ("\($0)", noise(40, seed: $0), EvictionScene.instant(Double($0)))
                    })
            }
            // Separate connections, as in another process.
            let writer = try Cache.create(at: directory.path)
            let undisturbed = try commits(writer) { $0 < .seconds(1) }
            let isDone = Mutex(false)
            async let eviction = evict(at: directory.path, downTo: 10) {
                isDone.withLock { $0 = true }
            }
            let during = try commits(writer) { _ in !isDone.withLock { $0 } }
            let report = try await eviction
            #expect(report.total.count == objects - 10)
            let (usual, stalled) = (Percentiles(undisturbed), Percentiles(during))
            print(
                """
                commits without an eviction: \(usual); during an eviction of \(report.total.count) \
                objects in \(report.seconds) s: \(stalled)
                """)
            #expect(during.count > 10)
            #expect(stalled.high < (wanted == nil ? 1 : 0.1))
        }
    }

    /// Evicts through separate connections.
    private func evict(
        at path: String, downTo count: Int, _ done: @Sendable () -> Void
    ) async throws -> EvictionReport {
        defer { done() }
        var policy = EvictionPolicy()
        policy.maximumObjects = count
        return try Cache.create(at: path).evict(policy)
    }

    /// Percentiles of durations, in seconds.
    private struct Percentiles: CustomStringConvertible {
        /// The 50th percentile.
        let median: Double
        /// The 99th percentile.
        let high: Double
        let highest: Double
        let count: Int

        init(_ durations: [Duration]) {
            let sorted = durations.map { $0 / .seconds(1) }.sorted()
            count = sorted.count
            median = sorted[count / 2]
            high = sorted[min(count - 1, count * 99 / 100)]
            highest = sorted[count - 1]
        }

        var description: String {
            let times = [median, high, highest].map { String(format: "%.1f", $0 * 1_000) }
            return "\(count) in p50 \(times[0]) ms, p99 \(times[1]) ms, at most \(times[2]) ms"
        }
    }

    /// Returns the durations of small, successive commits.
    private func commits(
        _ cache: Cache, while shouldContinue: (Duration) -> Bool
    ) throws -> [Duration] {
        let index = try cache.requireWritable()
        let start = ContinuousClock.now
        var durations: [Duration] = []
        while shouldContinue(ContinuousClock.now - start) {
            let begin = ContinuousClock.now
            try index.write { db in
                try db.execute(
                    sql: "INSERT OR IGNORE INTO pins (key, pinned_at) VALUES (?, 0)",
                    arguments: ["commit \(durations.count)"])
            }
            durations.append(ContinuousClock.now - begin)
            // Stores also pause between commits. Without a pause, SQLite's lock would not pass to
            // other connections.
            Thread.sleep(forTimeInterval: (ContinuousClock.now - begin) / .seconds(1))
        }
        return durations
    }
}
