import Synchronization

/// What an origin does beside answering, by the number of requests it has seen.
final class KillScript: Sendable {
    /// The most requests that a run with default settings has in flight to two hosts.
    private static let window = 12

    private struct State {
        var requests = 0
        var wave: Int?
        var cue: Cue?
    }

    private struct Cue {
        let count: Int
        let action: @Sendable () -> Void
    }

    private let state = Mutex(State())

    /// Begins to count anew, without a cue.
    ///
    /// - Parameter wave: so many requests are answered at once; then as many as a run may have
    ///   under way are held back, so that nothing arrives for a while. Nil: none are.
    func begin(wave: Int?) {
        state.withLock { $0 = State(wave: wave) }
    }

    /// Acts as soon as so many requests have arrived.
    func at(_ count: Int, _ action: @escaping @Sendable () -> Void) {
        let isPast = state.withLock { state in
            state.cue = Cue(count: count, action: action)
            return state.requests >= count
        }
        if isPast { action() }
    }

    /// Takes note of a request; returns whether its reply is to be held back.
    func request() -> Bool {
        let (action, isHeldBack) = state.withLock { state in
            state.requests += 1
            let cue = state.cue.flatMap { $0.count == state.requests ? $0.action : nil }
            let place = state.wave.map { state.requests - $0 } ?? 0
            return (cue, place > 0 && place <= Self.window)
        }
        action?()
        return isHeldBack
    }
}
