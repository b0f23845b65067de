import LarderCore

/// A writer that quotes and escapes icon values as tokens of the format. Keeps the replaced token's
/// quotation marks if possible. Values must be printable ASCII.
final class TokenWriter {
    private let format: ManifestFormat
    private let encoding: XMLEncoding
    private var previous: UInt8 = 0

    init(_ format: ManifestFormat, _ encoding: XMLEncoding) {
        self.format = format
        self.encoding = encoding
    }

    func pass(_ bytes: UnsafeRawBufferPointer) {
        // Text in UTF-16 contains zeros, which are skipped.
        previous = bytes.last { !$0.isMarkupBlank && $0 != 0 } ?? previous
    }

    func token(_ value: String, replacing token: UnsafeBufferPointer<UInt8>.SubSequence) -> [UInt8]
    {
        let first = token.first { $0 != 0 }
        precondition(value.utf8.allSatisfy { 0x20..<0x7F ~= $0 }, "the value is not ASCII")
        switch format {
        case .urlList, .binaryPlist: return Array(value.utf8)
        case .xml, .xmlPlist:
            let isQuoted = previous == UInt8(ascii: "=") && "\"'".utf8.contains(first ?? 0)
            let mark: [UInt8] = first.map { isQuoted ? [$0] : [] } ?? []
            let text = mark + Self.escaped(value, "&<>\"'".utf8) { Array("&#\($0);".utf8) } + mark
            guard case .utf16(let isBigEndian) = encoding else { return text }
            return text.flatMap { isBigEndian ? [0, $0] : [$0, 0] }
        case .json, .jsonLines: return Self.quoted(value)
        case .yaml:
            let comment = Self.commentOfBlockScalar(token)
            switch first {
            case UInt8(ascii: "'"):
                return Array("'\(value.replacing("'", with: "''"))'".utf8)  // text: ASCII
            case .some(let first) where first != UInt8(ascii: "\"") && Self.isPlain(value):
                return Array(value.utf8) + comment
            default: return Self.quoted(value) + comment
            }
        }
    }

    private static func commentOfBlockScalar(
        _ token: UnsafeBufferPointer<UInt8>.SubSequence
    ) -> [UInt8] {
        guard let first = token.first, first == UInt8(ascii: "|") || first == UInt8(ascii: ">")
        else { return [] }
        let header = token.prefix { $0 != 0x0A && $0 != 0x0D }
        return header.firstIndex(of: UInt8(ascii: "#")).map { [0x20] + header[$0...] } ?? []
    }

    /// Whether a value can be a plain scalar anywhere in YAML 1.1 and 1.2. Requiring a letter, and
    /// a dot or slash, rules out numbers, dates and booleans. Parsers disagree about `:` and `?`.
    private static func isPlain(_ value: String) -> Bool {
        let bytes = value.utf8
        guard let first = bytes.first else { return false }
        return (first.isASCIILetterOrDigit || "./_".utf8.contains(first))
            && bytes.contains { $0.isASCIILetterOrDigit && !$0.isDigit }
            && bytes.contains(where: "./".utf8.contains)
            && bytes.allSatisfy { $0.isASCIILetterOrDigit || "-._~/%+@=".utf8.contains($0) }
    }

    private static func quoted(_ value: String) -> [UInt8] {
        let quote = UInt8(ascii: "\"")
        return [quote] + escaped(value, "\"\\".utf8) { [UInt8(ascii: "\\"), $0] } + [quote]
    }

    private static func escaped(
        _ value: String, _ special: String.UTF8View, _ escape: (UInt8) -> [UInt8]
    ) -> [UInt8] {
        value.utf8.reduce(into: []) { text, byte in
            if special.contains(byte) { text += escape(byte) } else { text.append(byte) }
        }
    }
}
