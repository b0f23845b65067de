import Foundation

/// A thread-safe value that a test can change.
final class Changing<Value: Sendable>: @unchecked Sendable {
    // Unchecked because of its variable; every access holds `lock`.
    private let lock = NSLock()
    private var current: Value

    init(_ value: Value) { current = value }

    var value: Value {
        get { lock.withLock { current } }
        set { lock.withLock { current = newValue } }
    }
}
