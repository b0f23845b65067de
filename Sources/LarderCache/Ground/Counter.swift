import Foundation

/// Numbers from 1, each given out once.
final class Counter: @unchecked Sendable {
    // Unchecked because `value` is a variable; every access holds `lock`. (`Atomic` needs iOS 18.)
    private let lock = NSLock()
    private var value = 0

    func next() -> Int {
        lock.withLock {
            value += 1
            return value
        }
    }
}
