import DequeModule
import Foundation
import LarderCache
import Synchronization

/// Runs short pieces of work beside the transfer loop, on as few threads as keep up with it.
///
/// The first lane is a serial queue that others use, too, piece by piece in turn with theirs: to
/// wake a thread of its own for each piece costs more than to check an icon. Others join when
/// pieces pile up, as they do if files are slow to create.
final class StagingLanes: Sendable {
    /// So many pieces wait for each lane before another one joins.
    private static let backlogPerLane = 3
    private static let maximumLanes = 8

    /// The first lane.
    let primary: DispatchQueue
    private let others = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    /// One after the other: a large body is mapped while it is checked, and counts as memory in
    /// use.
    private let large = DispatchQueue(label: "larder.stage.large")
    private let state = Mutex(State())

    private struct State {
        var waiting: Deque<@Sendable () -> Void> = []
        var hasPrimary = false
        var others = 0
    }

    init(primary: DispatchQueue) { self.primary = primary }

    /// What a piece of work is about, by what it takes.
    enum Load {
        /// No file, and no time worth speaking of.
        case small
        /// It would hold up the others of the first lane.
        case long
        /// Two at once would take too much memory.
        case large

        /// Of a body with so many bytes.
        init(bytes: Int64) {
            self = bytes > 1 << 20 ? .large : bytes > StagedBody.memoryLimit ? .long : .small
        }
    }

    /// Runs `work` soon.
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
