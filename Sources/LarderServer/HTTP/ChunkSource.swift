import NIOCore

/// A body that is made piece by piece, each only when the client has taken the last one.
///
/// Asked by one thread at a time, which may wait for a disk.
protocol ChunkSource: Sendable {
    /// The next piece; nil at the end.
    func next() throws -> ByteBuffer?
}
