import Synchronization

/// Lets a few messages a minute through: clients can cause any number.
final class ProblemGate: Sendable {
    private static let mostAMinute = 20

    private let tell: @Sendable (String) -> Void
    private let state = Mutex((since: ContinuousClock.now, count: 0))

    init(_ tell: @escaping @Sendable (String) -> Void) { self.tell = tell }

    func report(_ message: String) {
        let isTold = state.withLock { state in
            if ContinuousClock.now - state.since > .seconds(60) { state = (.now, 0) }
            state.count += 1
            return state.count <= Self.mostAMinute
        }
        if isTold { tell(message) }
    }
}
