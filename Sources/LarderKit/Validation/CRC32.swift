/// The CRC-32 of ISO 3309 and ITU-T V.42, which PNG puts behind every chunk.
enum CRC32 {
    /// The checksum of some bytes.
    static func checksum(of bytes: UnsafeRawBufferPointer) -> UInt32 {
        tables.withUnsafeBufferPointer { tables in
            guard let table = tables.baseAddress else { return 0 }
            var crc = ~UInt32(0)
            var offset = 0
            // Slicing-by-8: eight look-ups that do not wait for each other, instead of eight that
            // do. Every index is a byte plus a table's start, so below 8 * 256.
            while bytes.count - offset >= 8 {
                let word = UInt64(
                    littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
                let low = UInt32(truncatingIfNeeded: word) ^ crc
                let high = UInt32(truncatingIfNeeded: word >> 32)
                let first =
                    table[1792 + Int(low & 0xFF)] ^ table[1536 + Int(low >> 8 & 0xFF)]
                    ^ table[1280 + Int(low >> 16 & 0xFF)] ^ table[1024 + Int(low >> 24)]
                let second =
                    table[768 + Int(high & 0xFF)] ^ table[512 + Int(high >> 8 & 0xFF)]
                    ^ table[256 + Int(high >> 16 & 0xFF)] ^ table[Int(high >> 24)]
                crc = first ^ second
                offset += 8
            }
            while offset < bytes.count {
                crc = crc >> 8 ^ table[Int((crc ^ UInt32(bytes[offset])) & 0xFF)]
                offset += 1
            }
            return ~crc
        }
    }

    /// Eight tables of 256: table `n` advances a byte past `n` further zero bytes.
    private static let tables: [UInt32] = {
        var tables: [UInt32] = []
        tables.reserveCapacity(8 * 256)
        for byte in 0..<UInt32(256) {
            tables.append((0..<8).reduce(byte) { crc, _ in crc >> 1 ^ (0xEDB8_8320 * (crc & 1)) })
        }
        for index in 256..<8 * 256 {
            let previous = tables[index - 256]
            tables.append(previous >> 8 ^ tables[Int(previous & 0xFF)])
        }
        return tables
    }()
}
