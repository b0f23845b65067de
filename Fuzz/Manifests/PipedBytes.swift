#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Bytes in a pipe, which does not support seeking.
enum PipedBytes {
    /// The capacity of a pipe with the default size.
    static let limit = 1 << 16

    /// Calls `body` with a pipe that contains `bytes`, at most ``limit``.
    static func hand(_ bytes: [UInt8], to body: (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "pipe: \(errno)")
        defer { close(ends[0]) }
        precondition(write(ends[1], bytes, bytes.count) == bytes.count, "write: \(errno)")
        close(ends[1])
        body(ends[0])
    }
}
