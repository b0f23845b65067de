import Foundation
import LarderIcons

/// What a source reports, in order, for a test to wait for.
final class Reports: @unchecked Sendable {
    // Unchecked because `levels` is a variable; every access holds `lock`.
    private let lock = NSLock()
    private var levels: [MemoryPressure.Level] = []
    private let arrived = DispatchSemaphore(value: 0)

    func add(_ level: MemoryPressure.Level) {
        lock.withLock { levels.append(level) }
        arrived.signal()
    }

    /// The next one; nil if there is none in half a minute.
    func next() -> MemoryPressure.Level? {
        guard arrived.wait(timeout: .now() + 30) == .success else { return nil }
        return lock.withLock { levels.removeFirst() }
    }
}
