import Foundation
import Synchronization

/// Runs short pieces of work beside the transfer loop, on as few threads as keep up with it.
///
/// A thread that is at work takes the next piece without being woken; another is woken only when pieces
/// pile up, as they do where files are slow to be made. A concurrent queue wakes one for each piece, which
/// costs more than to check an icon.
final class StagingLanes: Sendable {
    /// So many pieces wait for each thread that is at work before another one joins.
    private static let backlogPerLane = 3
    private static let maximumLanes = 8

    private let queue = DispatchQueue(label: "larder.stage", attributes: .concurrent)
    private let state = Mutex(State())

    private struct State {
        /// In order; those before `next` have been taken.
        private var pieces: [(@Sendable () -> Void)?] = []
        private var next = 0
        var lanes = 0

        var count: Int { pieces.count - next }

        mutating func append(_ work: @escaping @Sendable () -> Void) { pieces.append(work) }

        /// The next piece for a lane; a lane that finds none is one no more.
        mutating func take() -> (@Sendable () -> Void)? {
            guard next < pieces.count else {
                lanes -= 1
                return nil
            }
            defer {
                pieces[next] = nil
                next += 1
                // Seldom enough to cost nothing, and often enough to keep nothing.
                if next >= 64, next * 2 >= pieces.count {
                    pieces.removeFirst(next)
                    next = 0
                }
            }
            return pieces[next]
        }
    }

    /// Runs `work` soon, after what came before it has been begun.
    func async(_ work: @escaping @Sendable () -> Void) {
        let isNeeded = state.withLock { state in
            state.append(work)
            guard state.count > Self.backlogPerLane * state.lanes, state.lanes < Self.maximumLanes
            else { return false }
            state.lanes += 1
            return true
        }
        guard isNeeded else { return }
        queue.async { [self] in
            while let work = state.withLock({ $0.take() }) { work() }
        }
    }
}
