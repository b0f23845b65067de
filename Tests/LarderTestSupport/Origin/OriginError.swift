import Foundation

/// A failed system call of the test support.
public struct OriginError: Error, Sendable, CustomStringConvertible {
    /// The operation, such as `bind 127.0.0.1:8642`.
    public let operation: String
    /// The `errno` of the failed call.
    public let code: Int32

    /// Uses the calling thread's `errno` unless a code is given.
    init(_ operation: String, code: Int32 = errno) {
        self.operation = operation
        self.code = code
    }

    /// Whether the port is in use by another socket.
    public var isAddressInUse: Bool { code == EADDRINUSE }

    /// The operation and the system's message for the code.
    public var description: String { "\(operation): \(String(cString: strerror(code)))" }
}
