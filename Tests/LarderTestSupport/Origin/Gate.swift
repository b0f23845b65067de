import Foundation
import Synchronization

/// A gate that holds replies back until a test opens it, so that tests order events without
/// sleeping.
///
/// A gate opens once and stays open.
public final class Gate: Sendable {
    // The read end of a pipe. It becomes readable when the write end is closed, so a thread can
    // poll it together with a socket.
    package let descriptor: Int32
    private let writeEnd: Mutex<Int32?>

    /// Creates a closed gate.
    public init() throws {
        let pipe = try Pipe()
        descriptor = pipe.readEnd
        writeEnd = Mutex(pipe.writeEnd)
    }

    deinit {
        open()
        close(descriptor)
    }

    /// Opens the gate for all current and later waiters.
    public func open() {
        writeEnd.withLock { end in
            if let end { close(end) }
            end = nil
        }
    }

    /// Blocks the calling thread until the gate is open.
    public func wait() {
        _ = Socket.firstReadable([descriptor])
    }
}
