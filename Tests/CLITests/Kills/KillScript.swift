import Synchronization

/// An action and a pause that start at certain numbers of requests to an origin.
final class KillScript: Sendable {
    /// The maximum number of requests in flight to two hosts with default settings.
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

    /// Resets the count and removes the action.
    ///
    /// - Parameter wave: The number of requests to answer at once. The following requests are held
    ///   back, as many as can be in flight, so that no response arrives for a while. If nil, none
    ///   are held back.
    func begin(wave: Int?) {
        state.withLock { $0 = State(wave: wave) }
    }

    /// Runs an action once this number of requests has arrived.
    func at(_ count: Int, _ action: @escaping @Sendable () -> Void) {
        let isPast = state.withLock { state in
            state.cue = Cue(count: count, action: action)
            return state.requests >= count
        }
        if isPast { action() }
    }

    /// Counts a request, and returns whether to hold back its response.
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
