/// One caller's interest in an icon, see ``IconLoader/load(_:priority:then:)``. To let go of it
/// cancels nothing.
public final class IconTask: Sendable {
    private let loads: Loads?
    private let key: String
    private let waiter: Int

    init(_ loads: Loads?, key: String, waiter: Int) {
        self.loads = loads
        self.key = key
        self.waiter = waiter
    }

    /// Ends the interest: what was to be called is not called any more, unless that has begun. If
    /// nobody else waits for the icon, it is neither read nor fetched.
    public func cancel() { loads?.leave(key, waiter) }

    /// Raises or lowers the priority; nothing happens once the icon is there. The icon has the
    /// highest one of all who wait for it.
    public func setPriority(_ priority: IconPriority) {
        loads?.setPriority(priority, key, waiter)
    }
}
