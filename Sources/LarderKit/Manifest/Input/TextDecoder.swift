/// What a window holds, in UTF-8 instead of another encoding, while it is read.
final class TextDecoder {
    private let window: ByteWindow
    private let encoding: XMLEncoding
    /// What was left of a character that did not fit.
    private var rest: [UInt8] = []

    init(_ window: ByteWindow, from encoding: XMLEncoding) {
        self.window = window
        self.encoding = encoding
    }

    /// Reads on; 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        var filled = min(rest.count, buffer.count)
        buffer.copyBytes(from: rest.prefix(filled))
        rest.removeFirst(filled)
        while filled < buffer.count {
            // As much as the longest character takes.
            while window.count < 4, try window.fill() {}
            let bytes = window.unread
            if bytes.isEmpty { break }
            var taken = 0
            while filled < buffer.count, taken < bytes.count,
                let (scalar, size) = next(UnsafeBufferPointer(rebasing: bytes[taken...]))
            {
                taken += size
                for byte in UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter {
                    if filled < buffer.count {
                        buffer[filled] = byte
                        filled += 1
                    } else {
                        rest.append(byte)
                    }
                }
            }
            window.consume(taken)
            guard taken > 0 else {
                throw ManifestError(
                    .malformed, source: window.input.name, "text that its encoding does not have")
            }
        }
        return filled
    }

    /// The first character, and how many bytes it takes; nil if it is damaged, or not all there.
    private func next(_ bytes: UnsafeBufferPointer<UInt8>) -> (Unicode.Scalar, size: Int)? {
        switch encoding {
        case .utf8: return nil
        case .latin1(let isASCII):
            return isASCII && bytes[0] > 0x7F ? nil : (Unicode.Scalar(bytes[0]), 1)
        case .utf16(let isBigEndian):
            func unit(_ index: Int) -> UInt16? {
                guard bytes.count >= 2 * index + 2 else { return nil }
                let (first, second) = (UInt16(bytes[2 * index]), UInt16(bytes[2 * index + 1]))
                return isBigEndian ? first << 8 | second : second << 8 | first
            }
            guard let first = unit(0) else { return nil }
            if let scalar = Unicode.Scalar(first) { return (scalar, 2) }
            guard UTF16.isLeadSurrogate(first), let second = unit(1),
                UTF16.isTrailSurrogate(second)
            else { return nil }
            return (UTF16.decode(UTF16.EncodedScalar([first, second])), 4)
        }
    }
}
