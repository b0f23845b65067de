import LarderCache

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
