#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A system call of the test support that failed.
public struct OriginError: Error, Sendable, CustomStringConvertible {
    /// What was being done, such as `bind 127.0.0.1:8642`.
    public let operation: String
    /// The `errno` it failed with.
    public let code: Int32

    /// Takes the calling thread's `errno`, unless a code is given.
    init(_ operation: String, code: Int32 = errno) {
        self.operation = operation
        self.code = code
    }

    /// Whether another socket has the port.
    public var isAddressInUse: Bool { code == EADDRINUSE }

    /// The operation and the system's words for the code.
    public var description: String { "\(operation): \(String(cString: strerror(code)))" }
}
