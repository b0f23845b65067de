import Testing

@testable import LarderImages

struct CRC32Tests {
    @Test func checksumsMatchTheStandardCheckValue() {
        #expect(checksum(Array("123456789".utf8)) == 0xCBF4_3926)
        #expect(checksum([]) == 0)
    }

    @Test func checksumsOfAllLengthsMatchTheDefinition() {
        let bytes = (0..<100).map { UInt8($0 * 37 & 0xFF) }
        for length in 0...bytes.count {
            let part = Array(bytes.prefix(length))
            #expect(checksum(part) == definition(part), "\(length) bytes")
        }
    }

    @Test func checksumsOfUnalignedBytesMatchTheDefinition() {
        let bytes = (0..<64).map { UInt8($0 * 11 & 0xFF) }
        for start in 0..<8 {
            let crc = bytes.withUnsafeBytes {
                CRC32.checksum(of: UnsafeRawBufferPointer(rebasing: $0[start...]))
            }
            #expect(crc == definition(Array(bytes[start...])))
        }
    }

    private func checksum(_ bytes: [UInt8]) -> UInt32 {
        bytes.withUnsafeBytes { CRC32.checksum(of: $0) }
    }

    /// Computes the checksum bit by bit.
    private func definition(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
