import Synchronization

/// A clock that advances only when a task sleeps. The sleep ends at once.
final class VirtualClock: Clock {
    struct Instant: InstantProtocol {
        var offset = Duration.zero

        func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        func duration(to other: Instant) -> Duration { other.offset - offset }
        static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private let state = Mutex((now: Instant(), sleeps: 0))
    private let onSleep: @Sendable (Int) -> Void

    /// - Parameter onSleep: Called before each sleep ends, with its number. The first is 1.
    init(onSleep: @escaping @Sendable (Int) -> Void = { _ in }) { self.onSleep = onSleep }

    var now: Instant { state.withLock { $0.now } }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.sleeps += 1
            return state.sleeps
        }
        onSleep(number)
        try Task.checkCancellation()
        state.withLock { $0.now = max($0.now, deadline) }
    }
}
