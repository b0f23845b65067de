/// What a window holds, in UTF-8, while it is read.
///
/// Bytes that are no character, and characters that XML 1.0 forbids (section 2.2), read as
/// ``invalid``: libxml2 would stop at the first of them, and U+FFFD would make another URL of a
/// damaged one.
final class TextDecoder {
    /// Stands for a byte, or a unit of UTF-16, that is no character, and for a forbidden character.
    /// DEL is in no real text.
    static let invalid: UInt8 = 0x7F

    /// Whether there were any.
    private(set) var hasInvalid = false
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
            if case .utf8 = encoding {
                filled += copy(bytes, to: .init(rebasing: buffer[filled...]))
                continue
            }
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
            if taken == 0 {
                hasInvalid = true
                buffer[filled] = Self.invalid
                filled += 1
                taken = min(encoding.unitSize, bytes.count)
            }
            window.consume(taken)
        }
        return filled
    }

    /// Copies valid characters, or replaces one byte. Returns the number of bytes.
    private func copy(
        _ bytes: UnsafeBufferPointer<UInt8>, to buffer: UnsafeMutableRawBufferPointer
    ) -> Int {
        let part = UnsafeBufferPointer(rebasing: bytes.prefix(buffer.count))
        var length = part.validUTF8Count
        if length > 0 {
            buffer.copyBytes(from: part.prefix(length))
        } else if let size = bytes.characterLength(at: 0) {
            // The character does not fit. Its rest follows in the next call.
            buffer.copyBytes(from: part)
            rest = Array(bytes[part.count..<size])
            window.consume(size)
            return part.count
        } else {
            hasInvalid = true
            buffer[0] = Self.invalid
            length = 1
        }
        window.consume(length)
        return length
    }

    /// The first character, and how many bytes it takes; nil if it is damaged, forbidden, or not
    /// all there.
    private func next(_ bytes: UnsafeBufferPointer<UInt8>) -> (Unicode.Scalar, size: Int)? {
        decoded(bytes).flatMap { $0.0.isForbiddenInXML ? nil : $0 }
    }

    private func decoded(_ bytes: UnsafeBufferPointer<UInt8>) -> (Unicode.Scalar, size: Int)? {
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

extension UnsafeBufferPointer<UInt8> {
    /// The number of bytes in the valid characters that it begins with, up to a forbidden one.
    fileprivate var validUTF8Count: Int {
        var index = 0
        while index < count {
            if index + 8 <= count, let base = baseAddress {
                let word = UnsafeRawPointer(base + index).loadUnaligned(as: UInt64.self)
                // Neither a byte beyond ASCII nor a control character.
                let controls = (word &- 0x2020_2020_2020_2020) & ~word
                if (word | controls) & 0x8080_8080_8080_8080 == 0 {
                    index += 8
                    continue
                }
            }
            guard let length = characterLength(at: index) else { break }
            index += length
        }
        return index
    }

    /// The number of bytes in the character at `index`; nil if it is not valid, forbidden, or not
    /// all there (The Unicode Standard, table 3-7).
    fileprivate func characterLength(at index: Int) -> Int? {
        let (lead, length) = (self[index], Swift.min(count - index, 4))
        func follows(_ place: Int, _ bytes: ClosedRange<UInt8> = 0x80...0xBF) -> Bool {
            place < length && bytes ~= self[index + place]
        }
        switch lead {
        case ..<0x80: return Unicode.Scalar(lead).isForbiddenInXML ? nil : 1
        case 0xC2...0xDF: return follows(1) ? 2 : nil
        case 0xE0...0xEF:
            let second: ClosedRange<UInt8> =
                lead == 0xE0 ? 0xA0...0xBF : lead == 0xED ? 0x80...0x9F : 0x80...0xBF
            guard follows(1, second), follows(2) else { return nil }
            let isForbidden =
                lead == 0xEF && self[index + 1] == 0xBF && self[index + 2] >= 0xBE
            return isForbidden ? nil : 3
        case 0xF0...0xF4:
            let second: ClosedRange<UInt8> =
                lead == 0xF0 ? 0x90...0xBF : lead == 0xF4 ? 0x80...0x8F : 0x80...0xBF
            return follows(1, second) && follows(2) && follows(3) ? 4 : nil
        default: return nil
        }
    }
}

extension Unicode.Scalar {
    /// Whether no document may have it, not even as a reference (XML 1.0, section 2.2).
    fileprivate var isForbiddenInXML: Bool {
        value < 0x20 ? ![0x09, 0x0A, 0x0D].contains(value) : 0xFFFE...0xFFFF ~= value
    }
}

/// The encodings of XML that are read.
enum XMLEncoding {
    case utf8
    case utf16(isBigEndian: Bool)
    /// ISO-8859-1; of US-ASCII, which is a part of it, nothing else is taken.
    case latin1(isASCII: Bool)

    /// The number of bytes in a unit.
    var unitSize: Int {
        if case .utf16 = self { 2 } else { 1 }
    }

    /// How long an XML declaration may be.
    private static let longestDeclaration = 1 << 10

    /// The document in valid UTF-8.
    static func decoded(_ window: ByteWindow) throws -> ByteWindow {
        let encoding = try of(window)
        let marks: [[UInt8]] = [[0xFF, 0xFE], [0xFE, 0xFF]]
        if marks.contains(where: { window.unread.starts(with: $0) }) { window.consume(2) }
        return ByteWindow(ByteInput(decoding: window, from: encoding), line: window.line)
    }

    /// As the first bytes show it, which say more than any declaration; else as it is declared.
    private static func of(_ window: ByteWindow) throws -> XMLEncoding {
        let bytes = window.unread
        func begins(_ beginnings: [UInt8]...) -> Bool {
            beginnings.contains { bytes.starts(with: $0) }
        }
        if begins([0xFE, 0xFF], [0x00, 0x3C]) { return .utf16(isBigEndian: true) }
        if begins([0xFF, 0xFE], [0x3C, 0x00]) { return .utf16(isBigEndian: false) }
        guard let name = try declared(in: window) else { return .utf8 }
        func isOne(of names: StaticString...) -> Bool { names.contains { name.utf8.isWord($0) } }
        if isOne(of: "utf-8", "utf8", "utf-16") { return .utf8 }
        if isOne(of: "us-ascii", "ascii") { return .latin1(isASCII: true) }
        if isOne(of: "iso-8859-1", "latin1") { return .latin1(isASCII: false) }
        throw window.error(
            .malformed,
            """
            the encoding \(name.quoted(limit: 40)) is none of UTF-8, UTF-16, ISO-8859-1 and \
            US-ASCII
            """
        )
    }

    /// The encoding that the document names; nil if it names none.
    private static func declared(in window: ByteWindow) throws -> String? {
        while window.count < longestDeclaration, try window.fill() {}
        let bytes = window.unread.prefix(longestDeclaration)
        guard bytes.starts(with: "<?xml".utf8), bytes.count > 5, bytes[5].isJSONBlank else {
            return nil
        }
        guard let end = bytes.firstIndex(of: UInt8(ascii: ">")) else {
            throw window.error(
                .malformed, "no end of the XML declaration in \(longestDeclaration) bytes")
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        let name = try /\sencoding\s*=\s*["']([^"']*)["']/.firstMatch(in: text)
        return name.map { String($0.output.1) }
    }
}
