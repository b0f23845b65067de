import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// Holds replies back until a test lets them go, so that tests order events without sleeping.
///
/// A gate opens once and stays open.
public final class Gate: Sendable {
    // The read end of a pipe: readable for everyone once the write end is closed, and so
    // something a thread can wait for together with its peer's leaving.
    package let descriptor: Int32
    private let writeEnd: Mutex<Int32?>

    /// A closed gate.
    public init() throws {
        let pipe = try Pipe()
        descriptor = pipe.readEnd
        writeEnd = Mutex(pipe.writeEnd)
    }

    deinit {
        open()
        close(descriptor)
    }

    /// Lets everyone through, now and later.
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
