import CZlib

/// The CRC-32 of ISO 3309 and ITU-T V.42, which PNG puts behind every chunk.
enum CRC32 {
    /// The checksum of some bytes.
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        UInt32(
            truncatingIfNeeded: crc32_z(
                0, bytes.bindMemory(to: UInt8.self).baseAddress, bytes.count))
    }
}
