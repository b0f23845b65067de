/// The bytes of a request, read piece by piece while they are sent.
package struct RequestBody: Sendable {
    /// How many bytes there are.
    package let count: Int64
    /// Fills as much of a buffer as it can; nil if it cannot.
    package let read: @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?

    /// Bytes from somewhere else, such as a file.
    ///
    /// - Parameters:
    ///   - count: how many there are.
    ///   - read: fills as much of the buffer as it can, from that offset on, and returns how much;
    ///     `nil` if it cannot, which ends the transfer. Called on the loop's thread, again from the
    ///     beginning if the request has to be sent once more.
    package init(
        count: Int64,
        read: @escaping @Sendable (_ offset: Int64, _ buffer: UnsafeMutableRawBufferPointer) -> Int?
    ) {
        self.count = count
        self.read = read
    }

    /// Bytes in memory.
    package init(_ bytes: [UInt8]) {
        self.init(count: Int64(bytes.count)) { offset, buffer in
            bytes.withUnsafeBytes { bytes in
                let rest = bytes[min(Int(offset), bytes.count)...].prefix(buffer.count)
                buffer.copyBytes(from: rest)
                return rest.count
            }
        }
    }
}
