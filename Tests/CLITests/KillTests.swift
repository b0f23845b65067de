import Foundation
import LarderTestSupport
import Testing

/// `kill -9` at random points of a prefetch, again and again.
///
/// `LARDER_KILLS` sets how often (default: 200), `LARDER_KILL_SEED` repeats the choices of a run.
@Suite(.serialized) struct KillTests {
    /// The jobs that are killed side by side. The large one fills a batch on its way; the small
    /// ones, which cost less, are made to commit by their origin's pauses.
    private static let entries = [540, 40, 40, 40]

    /// Which job a round is about: one of twenty has the large one.
    private static func job(of round: Int) -> Int { round % 20 == 0 ? 0 : 1 + round % 3 }

    @Test(.timeLimit(.minutes(60))) func killedPrefetchBreaksNoPromise() async throws {
        let kills = Self.setting("LARDER_KILLS").map(Int.init) ?? 200
        let seed = Self.setting("LARDER_KILL_SEED") ?? UInt64.random(in: 0...UInt64(UInt32.max))
        let tally = try await withThrowingTaskGroup(of: KillTally.self) { group in
            for job in Self.entries.indices {
                let rounds = (0..<kills).filter { Self.job(of: $0) == job }
                group.addTask {
                    try await Self.onThreadOfItsOwn {
                        try Self.play(rounds, entries: Self.entries[job], seed: seed)
                    }
                }
            }
            return try await group.reduce(into: KillTally()) { $0 += $1 }
        }
        print("seed \(seed): \(tally)")
        for failure in tally.failures { Issue.record("\(failure)") }
        #expect(tally.rounds + tally.failures.count == kills)
        // Kills that all fell beside the commits would prove nothing.
        if kills >= 100 {
            #expect(tally.insideCommits > 0)
            #expect(tally.beforeCommits + tally.betweenCommits > kills / 4)
        }
    }

    private static func play(_ rounds: [Int], entries: Int, seed: UInt64) throws -> KillTally {
        try withTemporaryDirectory { directory in
            var scene = try KillScene(in: directory, entries: entries)
            var tally = KillTally()
            for round in rounds {
                var random = KillRandom(seed: seed &+ UInt64(round))
                do {
                    tally += try scene.round(using: &random)
                } catch {
                    tally.failures.append("seed \(seed), round \(round): \(error)")
                }
            }
            return tally
        }
    }

    /// Rounds wait for processes: in tasks' threads they would hold up the other tests.
    private static func onThreadOfItsOwn<Value: Sendable>(
        _ body: @escaping @Sendable () throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
        }
    }

    private static func setting(_ name: String) -> UInt64? {
        ProcessInfo.processInfo.environment[name].flatMap(UInt64.init)
    }
}
