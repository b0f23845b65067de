import Foundation

/// A socket that a ``FrontLoop`` watches.
protocol Polled: AnyObject {
    /// The descriptor. The loop closes it once ``isOver`` is true.
    var socket: Int32 { get }
    /// The events to poll for, such as `POLLIN`.
    var interest: Int32 { get }
    /// Whether the loop can close the socket.
    var isOver: Bool { get }
    func ready(_ events: Int32)
}

extension Polled {
    /// Returns whether the socket has bytes to read or has reached its end.
    static func isReadable(_ events: Int32) -> Bool {
        events & Int32(POLLIN | POLLHUP | POLLERR) != 0
    }
}
