#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A socket that a ``FrontLoop`` watches.
protocol Polled: AnyObject {
    /// Closed by the loop, once ``isOver``.
    var socket: Int32 { get }
    /// What it waits for, such as `POLLIN`.
    var interest: Int32 { get }
    /// Whether it is to be watched no more.
    var isOver: Bool { get }
    /// It can be read or written, or its peer is gone.
    func ready(_ events: Int32)
}

extension Polled {
    /// Whether there is something to read, if only the end.
    static func isReadable(_ events: Int32) -> Bool {
        events & Int32(POLLIN | POLLHUP | POLLERR) != 0
    }
}
