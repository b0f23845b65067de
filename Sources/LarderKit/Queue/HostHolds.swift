import Synchronization

/// The origins that asked to be left alone, and until when.
///
/// Shared with the operations, so that one that is about to start sees a hold as soon as the response
/// that imposes it has arrived.
final class HostHolds: Sendable {
    private let instants = Mutex<[Int: ContinuousClock.Instant]>([:])

    /// Lets nothing of an origin (the place of its cursor) begin before `instant`.
    func hold(_ cursor: Int, until instant: ContinuousClock.Instant) {
        instants.withLock { $0[cursor] = max(instant, $0[cursor] ?? instant) }
    }

    /// Until when an origin is held; nil where it is not.
    func end(of cursor: Int) -> ContinuousClock.Instant? {
        instants.withLock { instants in
            guard let instant = instants[cursor] else { return nil }
            if instant <= .now { instants[cursor] = nil }
            return instants[cursor]
        }
    }
}
