import Foundation

/// The plainest cache that many threads can use: no limit, no order.
final class LockedDictionary: @unchecked Sendable {
    // Unchecked because `values` is a variable; every access holds `lock`.
    private let lock = NSLock()
    private var values: [String: Data] = [:]

    func value(for key: String) -> Data? { lock.withLock { values[key] } }

    func insert(_ value: Data, for key: String) { lock.withLock { values[key] = value } }
}
