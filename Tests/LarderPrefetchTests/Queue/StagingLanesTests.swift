import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderPrefetch

@Suite(.timeLimit(.minutes(30))) struct StagingLanesTests {
    /// Runs what waits for threads on one that is no task's.
    private func withoutBlockingTasks<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    @Test func everyPieceRunsOnce() async {
        let lanes = StagingLanes()
        let counts = Mutex([Int](repeating: 0, count: 10_000))
        let group = DispatchGroup()
        await withoutBlockingTasks {
            for number in 0..<10_000 {
                group.enter()
                lanes.add(
                    {
                        counts.withLock { $0[number] += 1 }
                        group.leave()
                    }, .small)
            }
            group.wait()
        }
        #expect(counts.withLock { $0.allSatisfy { $0 == 1 } })
    }

    /// Where files are slow to be made, pieces pile up behind the first, and another lane takes
    /// them: all but the few for which none is woken.
    @Test func aPieceThatTakesLongHoldsUpFew() async {
        let lanes = StagingLanes()
        let (begun, gate) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        let ran = DispatchSemaphore(value: 0)
        await withoutBlockingTasks {
            lanes.add([
                {
                    begun.signal(); gate.wait()
                }
            ])
            begun.wait()
            let pieces = 2 * StagingLanes.backlogPerLane
            for _ in 0..<pieces { lanes.add([{ ran.signal() }]) }
            // Would wait for ever if the blocked lane were the only one.
            for _ in 0..<StagingLanes.backlogPerLane { ran.wait() }
            gate.signal()
            for _ in StagingLanes.backlogPerLane..<pieces { ran.wait() }
        }
    }

    /// As many as one thread keeps up with.
    @Test func aHandoverIsOneLanes() async {
        let lanes = StagingLanes()
        let threads = Mutex<Set<String>>([])
        let group = DispatchGroup()
        await withoutBlockingTasks {
            for _ in 0..<StagingLanes.backlogPerLane { group.enter() }
            lanes.add(
                Array(
                    repeating: {
                        threads.withLock { _ = $0.insert("\(pthread_self())") }
                        group.leave()
                    }, count: StagingLanes.backlogPerLane))
            group.wait()
        }
        #expect(threads.withLock { $0.count } == 1)
    }

    /// A body that takes long to check does not delay small ones, nor a large one those that are
    /// merely long.
    @Test(
        arguments: [(65_537, [0, 65_536]), (1 << 20 + 1, [0, 65_537, 1 << 20])]
            as [(Int64, [Int64])])
    func aLongPieceHoldsUpNone(bytes: Int64, others: [Int64]) async {
        let lanes = StagingLanes()
        let gate = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        await withoutBlockingTasks {
            lanes.add({ gate.wait() }, .init(bytes: bytes))
            for other in others {
                group.enter()
                lanes.add({ group.leave() }, .init(bytes: other))
            }
            // Would wait for ever if these were behind it.
            group.wait()
            gate.signal()
        }
    }

    /// Each is in memory while it is checked.
    @Test func twoLargePiecesNeverRunAtOnce() async {
        let lanes = StagingLanes()
        let running = Mutex((now: 0, most: 0))
        let group = DispatchGroup()
        await withoutBlockingTasks {
            for _ in 0..<100 {
                group.enter()
                lanes.add(
                    {
                        running.withLock {
                            ($0.now, $0.most) = ($0.now + 1, max($0.most, $0.now + 1))
                        }
                        sched_yield()
                        running.withLock { $0.now -= 1 }
                        group.leave()
                    }, .large)
            }
            group.wait()
        }
        #expect(running.withLock { $0.most } == 1)
    }

    @Test func whatHasRunIsLetGo() async {
        final class Held: Sendable {}
        let lanes = StagingLanes()
        weak let first: Held? = await withoutBlockingTasks {
            let held = Held()
            let group = DispatchGroup()
            for number in 0..<10 {
                group.enter()
                lanes.add([
                    {
                        if number == 0 { withExtendedLifetime(held) {} }
                        group.leave()
                    }
                ])
            }
            group.wait()
            return held
        }
        // The last of them may still be on its way out.
        while first != nil { await Task.yield() }
    }
}
