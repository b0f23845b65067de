#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Bytes that come through a pipe, and so cannot be sought in.
enum PipedBytes {
    /// What a pipe of the default size takes without a reader at its other end.
    static let limit = 1 << 16

    /// Hands over a descriptor that gives `bytes`, no more than ``limit`` of them.
    static func hand(_ bytes: [UInt8], to body: (Int32) -> Void) {
        var ends: [Int32] = [-1, -1]
        precondition(pipe(&ends) == 0, "pipe: \(errno)")
        defer { close(ends[0]) }
        precondition(write(ends[1], bytes, bytes.count) == bytes.count, "write: \(errno)")
        close(ends[1])
        body(ends[0])
    }
}
