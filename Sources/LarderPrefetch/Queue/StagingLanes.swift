import DequeModule
import Foundation
import LarderCache
import Synchronization

/// Runs short pieces of work outside of the transfer loop, on as few threads as keep up with it.
///
/// The first lane is a serial queue that others use, too: waking a thread for each piece takes
/// longer than checking an icon. Other lanes join when pieces pile up.
final class StagingLanes: Sendable {
    /// Another lane joins when more than this many pieces wait for each lane.
    private static let backlogPerLane = 3
    private static let maximumLanes = 8

    let primary: DispatchQueue
    private let others = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    /// Serial: a large body is mapped while it is checked, and counts as memory.
    private let large = DispatchQueue(label: "larder.stage.large")
    private let state = Mutex(State())

    private struct State {
        var waiting: Deque<@Sendable () -> Void> = []
        var hasPrimary = false
        var others = 0
    }

    init(primary: DispatchQueue) { self.primary = primary }

    enum Load {
        case small
        /// Would delay the others in the first lane.
        case long
        /// Two at once would use too much memory.
        case large

        init(bytes: Int64) {
            self = bytes > 1 << 20 ? .large : bytes > StagedBody.memoryLimit ? .long : .small
        }
    }

    func async(_ load: Load, _ work: @escaping @Sendable () -> Void) {
        switch load {
        case .small: break
        case .long: return others.async(execute: work)
        case .large: return large.async(execute: work)
        }
        let (wakesPrimary, wakesOther) = state.withLock { state in
            state.waiting.append(work)
            if !state.hasPrimary {
                state.hasPrimary = true
                return (true, false)
            }
            guard state.waiting.count > Self.backlogPerLane * (1 + state.others),
                state.others < Self.maximumLanes - 1
            else { return (false, false) }
            state.others += 1
            return (false, true)
        }
        if wakesPrimary { primary.async { [self] in runPrimary() } }
        if wakesOther { others.async { [self] in runOther() } }
    }

    private func runPrimary() {
        let work = state.withLock { state in
            let work = state.waiting.popFirst()
            state.hasPrimary = work != nil
            return work
        }
        guard let work else { return }
        work()
        primary.async { [self] in runPrimary() }
    }

    private func runOther() {
        while let work = state.withLock({ state in
            let work = state.waiting.popFirst()
            if work == nil { state.others -= 1 }
            return work
        }) { work() }
    }
}
