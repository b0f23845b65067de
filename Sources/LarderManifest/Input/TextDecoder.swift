import LarderCore
import LarderXML

/// A streaming converter of text to UTF-8. Invalid bytes, and characters that XML 1.0 forbids
/// (section 2.2), become ``invalid``. libxml2 would stop at the original bytes, and U+FFFD would
/// turn a damaged URL into a different one. The character U+0 is an error.
final class TextDecoder {
    /// DEL, which does not occur in real text.
    static let invalid: UInt8 = 0x7F

    private(set) var hasInvalid = false
    private(set) var offset = 0
    private let window: ByteWindow
    private let encoding: XMLEncoding
    private var rest: [UInt8] = []

    init(_ window: ByteWindow, from encoding: XMLEncoding) {
        self.window = window
        self.encoding = encoding
    }

    func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if rest.isEmpty { try decode(buffer.count) }
        let count = min(rest.count, buffer.count)
        buffer.copyBytes(from: rest.prefix(count))
        rest.removeFirst(count)
        offset += count
        return count
    }

    /// Decodes `count` bytes into ``rest``, or slightly more to complete the last character.
    private func decode(_ count: Int) throws {
        while rest.count < count {
            try window.fill(to: 4)
            let bytes = window.unread
            if bytes.isEmpty { return }
            var taken = 0
            if case .utf8 = encoding {
                let part = bytes.prefix(count - rest.count)
                taken = part.prefix { 0x20..<0x80 ~= $0 || $0 == 0x0A }.count
            }
            rest += bytes.prefix(taken)
            if taken == 0 {
                let next = character(bytes)
                // Only binary data has zeros, so the whole file is damaged.
                if next?.0.value == 0 {
                    throw window.error(.malformed, "the character U+0 is not allowed in XML")
                }
                if let (scalar, size) = next, !XMLReference.isForbidden(UInt64(scalar.value)) {
                    rest += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
                    taken = size
                } else {
                    hasInvalid = true
                    rest.append(Self.invalid)
                    taken = min(encoding.unitSize ?? 1, bytes.count)
                }
            }
            window.consume(taken)
        }
    }

    private func character(_ bytes: UnsafeBufferPointer<UInt8>) -> (Unicode.Scalar, size: Int)? {
        switch encoding {
        case .utf8:
            if bytes[0] < 0x80 { return (Unicode.Scalar(bytes[0]), 1) }
            var bytes = bytes.prefix(4).makeIterator()
            var decoder = UTF8()
            guard case .scalarValue(let scalar) = decoder.decode(&bytes) else { return nil }
            return (scalar, UTF8.width(scalar))
        case .latin1(let isASCII):
            return isASCII && bytes[0] > 0x7F ? nil : (Unicode.Scalar(bytes[0]), 1)
        case .utf16(let isBigEndian):
            var units = (0..<min(2, bytes.count / 2)).lazy.map { index in
                let (first, second) = (UInt16(bytes[2 * index]), UInt16(bytes[2 * index + 1]))
                return isBigEndian ? first << 8 | second : second << 8 | first
            }.makeIterator()
            var decoder = UTF16()
            guard case .scalarValue(let scalar) = decoder.decode(&units) else { return nil }
            return (scalar, 2 * UTF16.width(scalar))
        }
    }
}

enum XMLEncoding {
    case utf8
    case utf16(isBigEndian: Bool)
    /// ISO-8859-1, or its subset US-ASCII.
    case latin1(isASCII: Bool)

    /// The number of bytes in a code unit. Nil if decoded text has as many bytes as the original.
    var unitSize: Int? {
        switch self {
        // The decoder replaces each invalid byte with one byte.
        case .utf8, .latin1(isASCII: true): nil
        case .latin1(isASCII: false): 1
        case .utf16: 2
        }
    }

    private static let longestDeclaration = 1 << 10

    static func hasUTF16Mark(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.starts(with: [0xFE, 0xFF]) || bytes.starts(with: [0xFF, 0xFE])
    }

    /// Returns the encoding that the first bytes indicate, the declared encoding, or else UTF-8.
    static func of(_ window: ByteWindow) throws -> XMLEncoding {
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
            "the encoding \(name.quoted(limit: 40)) is not supported; use UTF-8, UTF-16,"
                + " ISO-8859-1 or US-ASCII")
    }

    private static func declared(in window: ByteWindow) throws -> String? {
        try window.fill(to: longestDeclaration)
        let bytes = window.unread.prefix(longestDeclaration)
        guard bytes.starts(with: "<?xml".utf8), bytes.count > 5, bytes[5].isMarkupBlank
        else { return nil }
        guard let end = bytes.firstIndex(of: UInt8(ascii: ">")) else {
            throw window.error(
                .malformed, "the XML declaration does not end within \(longestDeclaration) bytes")
        }
        let text = String(decoding: bytes[..<end], as: UTF8.self)
        let name = try /\sencoding\s*=\s*["']([^"']*)["']/.firstMatch(in: text)
        return name.map { String($0.output.1) }
    }
}
