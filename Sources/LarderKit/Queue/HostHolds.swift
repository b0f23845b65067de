import Synchronization

/// The origins that asked to be left alone, and until when; and whether the run still asks anybody.
///
/// Shared with the operations, so that one whose turn has come sees a hold as soon as the response
/// that imposes it has arrived.
final class HostHolds: Sendable {
    private let state = Mutex(State())

    private struct State {
        var instants: [Int: ContinuousClock.Instant] = [:]
        var isStopping = false
    }

    /// Lets nothing of an origin (the place of its cursor) begin before `instant`.
    func hold(_ cursor: Int, until instant: ContinuousClock.Instant) {
        state.withLock { $0.instants[cursor] = max(instant, $0.instants[cursor] ?? instant) }
    }

    /// Lets nothing begin any more.
    func stop() { state.withLock { $0.isStopping = true } }

    /// Whether an origin may be asked now.
    func allows(_ cursor: Int) -> Bool {
        state.withLock { state in
            if state.isStopping { return false }
            guard let instant = state.instants[cursor] else { return true }
            if instant > .now { return false }
            state.instants[cursor] = nil
            return true
        }
    }
}
