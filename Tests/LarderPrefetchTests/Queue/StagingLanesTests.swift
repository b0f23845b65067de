import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderPrefetch

@Suite(.timeLimit(.minutes(30))) struct StagingLanesTests {
    /// Runs `body` on a new thread, because it waits for other threads and must not block a task.
    private func withoutBlockingTasks<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    @Test func everyItemRunsOnce() async {
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
                    }, bytes: 0)
            }
            group.wait()
        }
        #expect(counts.withLock { $0.allSatisfy { $0 == 1 } })
    }

    /// If files are slow to create, items wait behind the first. Another lane takes them, except
    /// for the few for which no lane is woken.
    @Test func aSlowItemDelaysFewOtherItems() async {
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
            let itemCount = 2 * StagingLanes.backlogPerLane
            for _ in 0..<itemCount { lanes.add([{ ran.signal() }]) }
            // Would wait forever if the blocked lane were the only one.
            for _ in 0..<StagingLanes.backlogPerLane { ran.wait() }
            gate.signal()
            for _ in StagingLanes.backlogPerLane..<itemCount { ran.wait() }
        }
    }

    /// One lane keeps up with this number of items.
    @Test func itemsAddedTogetherRunInOneLane() async {
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

    /// A body that takes long to check does not delay small ones. A large body does not delay
    /// medium ones.
    @Test(
        arguments: [(65_537, [0, 65_536]), (1 << 20 + 1, [0, 65_537, 1 << 20])]
            as [(Int64, [Int64])])
    func aLongItemDelaysNoShorterItems(bytes: Int64, others: [Int64]) async {
        let lanes = StagingLanes()
        let gate = DispatchSemaphore(value: 0)
        let group = DispatchGroup()
        await withoutBlockingTasks {
            lanes.add({ gate.wait() }, bytes: bytes)
            for other in others {
                group.enter()
                lanes.add({ group.leave() }, bytes: other)
            }
            // Would wait forever if these items were behind the long one.
            group.wait()
            gate.signal()
        }
    }

    /// Each large body is in memory while it is checked.
    @Test func largeItemsNeverRunConcurrently() async {
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
                    }, bytes: 1 << 21)
            }
            group.wait()
        }
        #expect(running.withLock { $0.most } == 1)
    }

    @Test func finishedItemsAreReleased() async {
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
        // The lane may still be releasing its items.
        while first != nil { await Task.yield() }
    }
}
