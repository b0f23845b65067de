import DequeModule
import Foundation
import LarderCache
import Synchronization

/// Runs short pieces of work beside the transfer loop, on as few threads as keep up with it: one,
/// unless pieces pile up because the disk is slow to make files.
final class StagingLanes: Sendable {
    /// Another lane joins when more than this many pieces wait for each lane.
    static let backlogPerLane = 32
    private static let maximumLanes = 8
    /// So many finished pieces are released together. Each keeps its body, of up to 80 KiB.
    private static let releasedTogether = 16

    private let lanes = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    /// Serial: a large body is mapped while it is checked, and counts as memory.
    private let large = DispatchQueue(label: "larder.stage.large")
    private let state = Mutex(State())

    typealias Work = @Sendable () -> Void
    private let release: @Sendable ([Work]) -> Void

    /// - Parameter release: Releases finished pieces of work where they were made. A lane would
    ///   take the lock of that thread's allocator for each, and often wait for it.
    init(release: @escaping @Sendable ([Work]) -> Void = { _ in }) { self.release = release }

    private struct State {
        var waiting: Deque<Work> = []
        var lanes = 0
    }

    enum Load {
        case small
        /// Would delay the others in a lane.
        case long
        /// Two at once would use too much memory.
        case large

        init(bytes: Int64) {
            self = bytes > 1 << 20 ? .large : bytes > StagedBody.memoryLimit ? .long : .small
        }
    }

    func add(_ work: @escaping Work, _ load: Load) {
        switch load {
        case .small: add([work])
        case .long: lanes.async(execute: work)
        case .large: large.async(execute: work)
        }
    }

    /// Adds small pieces. Together, they wake a thread once.
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
            if done.count == Self.releasedTogether {
                release(done)
                done = []
            }
        }
        if !done.isEmpty { release(done) }
    }
}
