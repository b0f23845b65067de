enum JSONText {
    /// The escapes of RFC 8259 (section 7) except `u`, and their characters.
    private static let escapes = Array(zip("\"\\/bfnrt".utf8, "\"\\/\u{8}\u{C}\n\r\t".utf8))

    /// Unknown escapes and unpaired surrogates become an invalid byte, 0xFF.
    static func unescaped(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            let isEscape = text[index] == UInt8(ascii: "\\")
            // A byte follows each backslash, because a final one would escape the quotation mark.
            let byte =
                isEscape ? escapes.first(where: { $0.0 == text[index + 1] })?.1 : text[index]
            guard byte == nil, let unit = unit(text, at: index) else {
                result.append(byte ?? 0xFF)
                index += isEscape ? 2 : 1
                continue
            }
            index += 6
            var scalar = Unicode.Scalar(unit)
            if UTF16.isLeadSurrogate(unit), let trail = self.unit(text, at: index),
                UTF16.isTrailSurrogate(trail)
            {
                scalar = UTF16.decode(UTF16.EncodedScalar([unit, trail]))
                index += 6
            }
            if let scalar { result += String(scalar).utf8 } else { result.append(0xFF) }
        }
        return result
    }

    private static func unit(_ text: UnsafeBufferPointer<UInt8>, at index: Int) -> UInt16? {
        guard index + 6 <= text.count, text[index...].starts(with: "\\u".utf8) else { return nil }
        var unit: UInt16 = 0
        for byte in text[(index + 2)..<(index + 6)] {
            guard let digit = byte.hexDigit else { return nil }
            unit = unit << 4 | UInt16(digit)
        }
        return unit
    }

    static func character(_ bytes: UnsafeBufferPointer<UInt8>, at index: Int) -> String {
        let window = bytes[index...].prefix(4)
        let texts = (1...4).lazy.compactMap { String(validating: window.prefix($0), as: UTF8.self) }
        return texts.first { !$0.isEmpty }?.quoted()
            ?? "byte 0x\(String(bytes[index], radix: 16, uppercase: true))"
    }
}
