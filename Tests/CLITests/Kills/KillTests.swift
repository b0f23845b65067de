import Foundation
import LarderTestSupport
import Testing

/// `kill -9` at random points of all commands that write to the cache.
///
/// `LARDER_KILLS` sets the number of kills (default: 1,000). `LARDER_KILL_SEED` repeats the random
/// choices of a run.
@Suite struct KillTests {
    private let kills = testSetting("LARDER_KILLS") ?? share(of: 1_000)
    private let seed = testSetting("LARDER_KILL_SEED") ?? .random(in: 0...Int(UInt32.max))

    // MARK: Prefetch

    /// The sizes of the jobs, which are killed in parallel. The large job fills a batch. The small
    /// jobs cost less, and commit when their origin pauses.
    private static let entries = [540, 40, 40, 40, 40, 40, 40]

    /// Returns the job of a round. One round in twenty has the large job.
    private static func job(of round: Int) -> Int {
        round % 20 == 0 ? 0 : 1 + round % (entries.count - 1)
    }

    @Test(.timeLimit(.minutes(240))) func killedPrefetchBreaksNoPromise() async throws {
        let kills = kills * 55 / 100
        let seed = seed
        let tally = try await withThrowingTaskGroup(of: KillTally.self) { group in
            for job in Self.entries.indices {
                let rounds = (0..<kills).filter { Self.job(of: $0) == job }
                group.addTask {
                    try await onThreadOfItsOwn {
                        try Self.play(rounds, entries: Self.entries[job], seed: seed)
                    }
                }
            }
            return try await group.reduce(into: KillTally()) { $0 += $1 }
        }
        print("prefetch, seed \(seed): \(tally)")
        for failure in tally.failures { Issue.record("\(failure)") }
        #expect(tally.rounds + tally.failures.count == kills)
        // Kills far from any commit would prove nothing.
        if kills >= 100 {
            #expect(tally.insideCommits > 0)
            #expect(tally.beforeCommits + tally.betweenCommits > kills / 4)
        }
    }

    private static func play(_ rounds: [Int], entries: Int, seed: Int) throws -> KillTally {
        try withTemporaryDirectory { directory in
            var scene = try PrefetchKills(in: directory, entries: entries)
            var tally = KillTally()
            for round in rounds {
                var random = random(seed, round)
                do {
                    tally += try scene.round(using: &random)
                } catch {
                    tally.failures.append("seed \(seed), round \(round): \(error)")
                }
            }
            return tally
        }
    }

    // MARK: Repair, eviction and rebuild

    @Test(.timeLimit(.minutes(240))) func killedRepairBreaksNoPromise() async throws {
        try await expectNoViolation("verify --repair", RepairKills.self)
    }

    @Test(.timeLimit(.minutes(240))) func killedEvictionBreaksNoPromise() async throws {
        try await expectNoViolation("evict", EvictKills.self)
    }

    @Test(.timeLimit(.minutes(240))) func killedReindexBreaksNoPromise() async throws {
        try await expectNoViolation("reindex", ReindexKills.self)
    }

    private func expectNoViolation<Scene: KillScene & SendableMetatype>(
        _ name: String, _ scene: Scene.Type
    ) async throws {
        let kills = kills * 15 / 100
        let (seed, threads) = (seed, 3)
        let counts = try await withThrowingTaskGroup(of: KillCounts.self) { group in
            for thread in 0..<threads {
                group.addTask {
                    try await onThreadOfItsOwn {
                        let rounds = stride(from: thread, to: kills, by: threads)
                        return try Self.play(Array(rounds), scene, seed: seed)
                    }
                }
            }
            return try await group.reduce(into: KillCounts()) { $0 += $1 }
        }
        print("\(name), seed \(seed): \(counts)")
        for failure in counts.failures { Issue.record("\(failure)") }
        #expect(counts.rounds + counts.failures.count == kills)
        if kills >= 100 { #expect(counts[.inside] > kills / 8) }
    }

    private static func play<Scene: KillScene>(
        _ rounds: [Int], _ type: Scene.Type, seed: Int
    ) throws -> KillCounts {
        try withTemporaryDirectory { directory in
            var scene = try Scene(in: directory)
            var counts = KillCounts()
            for round in rounds {
                var random = random(seed, round)
                do {
                    counts.add(try scene.round(using: &random))
                } catch {
                    counts.failures.append("seed \(seed), round \(round): \(error)")
                }
            }
            return counts
        }
    }

    // MARK: -

    private static func random(_ seed: Int, _ round: Int) -> Pseudorandom {
        Pseudorandom(seed: seed &+ round)
    }
}
