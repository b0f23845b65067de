import Foundation

/// A value that a test changes.
final class Changing<Value: Sendable>: @unchecked Sendable {
    // Unchecked because there is a variable; every access holds `lock`.
    private let lock = NSLock()
    private var current: Value

    init(_ value: Value) { current = value }

    var value: Value {
        get { lock.withLock { current } }
        set { lock.withLock { current = newValue } }
    }
}
