import LarderTestSupport
import Synchronization

/// A gate that opens after a number of events.
final class Countdown: Sendable {
    private let left: Mutex<Int>
    private let gate: Gate

    init(_ count: Int) throws {
        left = Mutex(count)
        gate = try Gate()
    }

    func count() {
        let isLast = left.withLock { left in
            left -= 1
            return left == 0
        }
        if isLast { gate.open() }
    }

    func wait() async throws {
        let gate = gate
        try await onThreadOfItsOwn { gate.wait() }
    }
}
