import DequeModule
import Foundation
import LarderCache
import Synchronization

/// Threads (lanes) for short work items. More than one runs if items wait for a slow disk.
final class StagingLanes: Sendable {
    static let backlogPerLane = 32
    private static let maximumLanes = 8
    /// The number of items to release together. Each retains up to 80 KiB.
    private static let releaseCount = 16

    private let lanes = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    /// A serial queue for large bodies, because a mapped body counts as used memory.
    private let large = DispatchQueue(label: "larder.stage.large")
    private let state = Mutex((waiting: Deque<Work>(), lanes: 0))

    typealias Work = @Sendable () -> Void
    private let release: @Sendable ([Work]) -> Void

    /// `release` frees items on the queue that made them, because lanes would contend for a lock.
    init(release: @escaping @Sendable ([Work]) -> Void = { _ in }) { self.release = release }

    func add(_ work: @escaping Work, bytes: Int64) {
        if bytes <= StagedBody.memoryLimit { return add([work]) }
        // A long item would delay small items in the same lane.
        (bytes > 1 << 20 ? large : lanes).async(execute: work)
    }

    func add(_ works: [Work]) {
        let joins = state.withLock { state in
            state.waiting.append(contentsOf: works)
            let wanted = 1 + state.waiting.count / (Self.backlogPerLane + 1)
            guard state.lanes < min(wanted, Self.maximumLanes) else { return false }
            state.lanes += 1
            return true
        }
        if joins { lanes.async { [self] in run() } }
    }

    private func run() {
        var done: [Work] = []
        while let work = state.withLock({ state in
            let work = state.waiting.popFirst()
            if work == nil { state.lanes -= 1 }
            return work
        }) {
            work()
            done.append(work)
            if done.count == Self.releaseCount {
                release(done)
                done = []
            }
        }
        if !done.isEmpty { release(done) }
    }
}
