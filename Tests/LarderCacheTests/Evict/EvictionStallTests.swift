import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache

/// How long others' commits wait for an eviction.
///
/// `LARDER_STALL_OBJECTS` sets how many objects are evicted (default: 5,000), and then the promise
/// of 100 ms is held to; on a machine that does something else besides, only that nobody is
/// starved.
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
            // Connections of its own, as another process has.
            let writer = try Cache.create(at: directory.path)
            let alone = try commits(writer) { $0 < .seconds(1) }
            let isDone = Mutex(false)
            async let eviction = evict(at: directory.path, downTo: 10) {
                isDone.withLock { $0 = true }
            }
            let beside = try commits(writer) { _ in !isDone.withLock { $0 } }
            let report = try await eviction
            #expect(report.total.count == objects - 10)
            let (usual, stalled) = (Percentiles(alone), Percentiles(beside))
            print(
                """
                commits alone: \(usual); beside an eviction of \(report.total.count) objects in \
                \(report.seconds) s: \(stalled)
                """)
            #expect(beside.count > 10)
            #expect(stalled.high < (wanted == nil ? 1 : 0.1))
        }
    }

    /// Evicts through connections of its own.
    private func evict(
        at path: String, downTo count: Int, _ done: @Sendable () -> Void
    ) async throws -> EvictionReport {
        defer { done() }
        var policy = EvictionPolicy()
        policy.maximumObjects = count
        return try Cache.create(at: path).evict(policy)
    }

    /// Of durations, in seconds.
    private struct Percentiles: CustomStringConvertible {
        /// Half of them are no longer.
        let middle: Double
        /// 99 of 100 are no longer.
        let high: Double
        let highest: Double
        let count: Int

        init(_ durations: [Duration]) {
            let sorted = durations.map { $0 / .seconds(1) }.sorted()
            count = sorted.count
            middle = sorted[count / 2]
            high = sorted[min(count - 1, count * 99 / 100)]
            highest = sorted[count - 1]
        }

        var description: String {
            let times = [middle, high, highest].map { String(format: "%.1f", $0 * 1_000) }
            return "\(count) in p50 \(times[0]) ms, p99 \(times[1]) ms, at most \(times[2]) ms"
        }
    }

    /// How long small commits take, one after another.
    private func commits(
        _ cache: Cache, while goesOn: (Duration) -> Bool
    ) throws -> [Duration] {
        let index = try cache.requireWritable()
        let start = ContinuousClock.now
        var durations: [Duration] = []
        while goesOn(ContinuousClock.now - start) {
            let begin = ContinuousClock.now
            try index.write { db in
                try db.execute(
                    sql: "INSERT OR IGNORE INTO pins (key, pinned_at) VALUES (?, 0)",
                    arguments: ["commit \(durations.count)"])
            }
            durations.append(ContinuousClock.now - begin)
            // No store commits without a pause, which SQLite's lock would not get over to anybody
            // else.
            Thread.sleep(forTimeInterval: (ContinuousClock.now - begin) / .seconds(1))
        }
        return durations
    }
}
