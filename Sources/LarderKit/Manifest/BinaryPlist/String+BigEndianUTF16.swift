extension String {
    /// The text of big-endian UTF-16; what is no character reads as U+FFFD. Much faster than the
    /// standard library's own way, since a binary plist may have one text any number of times.
    init(bigEndianUTF16 bytes: UnsafeRawBufferPointer) {
        let count = bytes.count / 2
        func unit(_ index: Int) -> UInt32 {
            UInt32(
                UInt16(bigEndian: bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)))
        }
        self.init(unsafeUninitializedCapacity: 3 * count) { text in
            var size = 0
            func put(_ byte: UInt32) {
                text[size] = UInt8(truncatingIfNeeded: byte)
                size += 1
            }
            func putRest(of scalar: UInt32, from shift: UInt32) {
                for shift in stride(from: Int(shift), through: 0, by: -6) {
                    put(0x80 | scalar >> UInt32(shift) & 0x3F)
                }
            }
            var index = 0
            while index < count {
                var scalar = unit(index)
                index += 1
                if scalar >> 11 == 0x1B {
                    let next = index < count ? unit(index) : 0
                    if scalar < 0xDC00, next >> 10 == 0x37 {
                        scalar = 0x10000 + (scalar & 0x3FF) << 10 + next & 0x3FF
                        index += 1
                    } else {
                        scalar = 0xFFFD
                    }
                }
                switch scalar {
                case ..<0x80: put(scalar)
                case ..<0x800:
                    put(0xC0 | scalar >> 6)
                    putRest(of: scalar, from: 0)
                case ..<0x10000:
                    put(0xE0 | scalar >> 12)
                    putRest(of: scalar, from: 6)
                default:
                    put(0xF0 | scalar >> 18)
                    putRest(of: scalar, from: 12)
                }
            }
            return size
        }
    }
}
