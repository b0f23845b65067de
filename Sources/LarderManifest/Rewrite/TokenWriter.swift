import LarderCore

/// A writer of icon values as tokens that are safe in their place. Keeps the quotation marks of the
/// replaced token if possible. Values are printable ASCII.
final class TokenWriter {
    private enum Style { case json, yaml, xml, raw }

    private let style: Style
    /// The last byte before the token that is not a blank.
    private var previous: UInt8 = 0

    init(_ format: ManifestFormat) {
        switch format {
        case .json, .jsonLines: style = .json
        case .yaml: style = .yaml
        case .xml, .xmlPlist: style = .xml
        case .urlList, .binaryPlist: style = .raw
        }
    }

    /// Looks at bytes that are copied.
    func pass(_ bytes: UnsafeRawBufferPointer) {
        if style == .xml { previous = bytes.last { !$0.isMarkupBlank } ?? previous }
    }

    /// Returns the bytes that replace a token with this first byte.
    func token(_ value: String, replacing first: UInt8?) -> [UInt8] {
        precondition(value.utf8.allSatisfy { 0x20..<0x7F ~= $0 }, "the value is not ASCII")
        switch style {
        case .raw: return Array(value.utf8)
        case .xml:
            let isAttribute = previous == UInt8(ascii: "=")
            let quote = isAttribute ? first.flatMap { "\"'".utf8.contains($0) ? $0 : nil } : nil
            let mark = quote.map { [$0] } ?? []
            return mark + Self.escapedForXML(value) + mark
        case .yaml where first == UInt8(ascii: "'"):
            return Array("'\(value.replacing("'", with: "''"))'".utf8)  // text: ASCII
        case .yaml where first != UInt8(ascii: "\"") && Self.isPlain(value):
            return Array(value.utf8)
        case .yaml, .json: return Array("\"\(Self.escaped(value))\"".utf8)
        }
    }

    /// Whether a value can be a plain scalar in block and flow collections of YAML 1.1 and 1.2. It
    /// must have a letter and a dot or slash, because other values may be numbers, dates or
    /// booleans. Parsers disagree about colons and question marks in flow collections.
    private static func isPlain(_ value: String) -> Bool {
        let bytes = value.utf8
        guard let first = bytes.first else { return false }
        return (first.isASCIILetterOrDigit || "./_".utf8.contains(first))
            && bytes.contains { $0.isASCIILetterOrDigit && !$0.isDigit }
            && bytes.contains(where: "./".utf8.contains)
            && bytes.allSatisfy { $0.isASCIILetterOrDigit || "-._~/%+@=".utf8.contains($0) }
    }

    private static func escaped(_ value: String) -> String {
        guard value.utf8.contains(where: "\"\\".utf8.contains) else { return value }
        return value.replacing("\\", with: "\\\\")  // text: ASCII
            .replacing("\"", with: "\\\"")  // text: ASCII
    }

    private static func escapedForXML(_ value: String) -> [UInt8] {
        value.utf8.flatMap { byte in
            "&<>\"'".utf8.contains(byte) ? Array("&#\(byte);".utf8) : [byte]
        }
    }
}
