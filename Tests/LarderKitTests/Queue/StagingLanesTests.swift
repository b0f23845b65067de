import Foundation
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderKit

@Suite struct StagingLanesTests {
    /// Runs what waits for threads on one that is no task's.
    private func withoutBlockingTasks<Value: Sendable>(
        _ body: @escaping @Sendable () -> Value
    ) async -> Value {
        await withCheckedContinuation { continuation in
            Thread { continuation.resume(returning: body()) }.start()
        }
    }

    @Test func everyPieceRunsOnce() async {
        let lanes = StagingLanes(primary: DispatchQueue(label: "lane"))
        let counts = Mutex([Int](repeating: 0, count: 10_000))
        let group = DispatchGroup()
        await withoutBlockingTasks {
            for number in 0..<10_000 {
                group.enter()
                lanes.async(isLong: false) {
                    counts.withLock { $0[number] += 1 }
                    group.leave()
                }
            }
            group.wait()
        }
        #expect(counts.withLock { $0.allSatisfy { $0 == 1 } })
    }

    /// Where files are slow to be made, pieces pile up behind the first, and another lane takes them.
    @Test func aPieceThatTakesLongHoldsUpFew() async {
        let lanes = StagingLanes(primary: DispatchQueue(label: "lane"))
        let gate = DispatchSemaphore(value: 0)
        let others = DispatchGroup()
        await withoutBlockingTasks {
            lanes.async(isLong: false) { gate.wait() }
            for _ in 0..<100 {
                others.enter()
                lanes.async(isLong: false) { others.leave() }
            }
            // Would wait for ever if the blocked lane were the only one.
            others.wait()
            gate.signal()
        }
    }

    @Test func aLongPieceHoldsUpNone() {
        let primary = DispatchQueue(label: "lane")
        let lanes = StagingLanes(primary: primary)
        let gate = DispatchSemaphore(value: 0)
        lanes.async(isLong: true) { gate.wait() }
        // Would wait for ever if it were on the first lane.
        primary.sync {}
        gate.signal()
    }

    @Test func whatHasRunIsLetGo() async {
        final class Held: Sendable {}
        let lanes = StagingLanes(primary: DispatchQueue(label: "lane"))
        weak let first: Held? = await withoutBlockingTasks {
            let held = Held()
            let group = DispatchGroup()
            for number in 0..<10 {
                group.enter()
                lanes.async(isLong: false) {
                    if number == 0 { withExtendedLifetime(held) {} }
                    group.leave()
                }
            }
            group.wait()
            return held
        }
        #expect(first == nil)
    }
}
