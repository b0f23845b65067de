import Foundation

/// One icon that an ``IconFetcher`` is to get. Its priority may change while it is under way.
public final class IconRequest: @unchecked Sendable {
    // Unchecked because there are variables: every access holds `lock`.
    private let lock = NSLock()
    private var current: IconPriority
    private var onChange: (@Sendable (IconPriority) -> Void)?

    /// What is to be fetched.
    public let url: URL

    /// A request for `url`.
    public init(url: URL, priority: IconPriority = .normal) {
        self.url = url
        current = priority
    }

    /// The highest priority of those who wait for it.
    public var priority: IconPriority { lock.withLock { current } }

    /// Has `body` called with each new priority, on any thread, and no earlier one any more. Two
    /// changes may come at once: ``priority`` is the last one.
    ///
    /// The request keeps `body`, and nobody keeps the request once it was fetched.
    public func onPriorityChange(_ body: @escaping @Sendable (IconPriority) -> Void) {
        lock.withLock { onChange = body }
    }

    /// - Returns: whether that is another one: then ``tell()`` is due.
    func change(to priority: IconPriority) -> Bool {
        lock.withLock {
            defer { current = priority }
            return current != priority
        }
    }

    func tell() {
        let (priority, body) = lock.withLock { (current, onChange) }
        body?(priority)
    }
}
