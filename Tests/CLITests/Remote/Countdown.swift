import LarderTestSupport
import Synchronization

/// Something that is to happen so many times.
final class Countdown: Sendable {
    private let left: Mutex<Int>
    private let gate: Gate

    init(_ count: Int) throws {
        left = Mutex(count)
        gate = try Gate()
    }

    /// Happens once.
    func count() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
    }

    /// Returns once it has happened that often.
    func wait() async throws {
        let gate = gate
        try await onThreadOfItsOwn { gate.wait() }
    }
}
