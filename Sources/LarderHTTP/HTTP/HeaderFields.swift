import CCurl
import Foundation

/// The fields of an HTTP head, in order, looked up by name in any case. A name may occur more than
/// once (RFC 9110, section 5).
///
/// Stored as lines and parsed on demand, since few fields are read.
package struct HeaderFields: Sendable, CustomStringConvertible {
    private let lines: [UInt8]

    /// Each line has a name, a colon and a value, and ends with a line feed.
    init(lines: [UInt8]) { self.lines = lines }

    /// The first value, without the blanks around it.
    package subscript(first name: String) -> String? { values(of: name).first.map(Self.text) }

    /// Returns the first value as a URL. Its bytes are kept, in any encoding.
    package func url(_ name: String) -> String? {
        values(of: name).first.map { String(urlBytes: Self.withoutBlanks($0)) }
    }

    package func all(_ name: String) -> [String] { values(of: name).map(Self.text) }

    /// Returns the first value as a date. libcurl's parser accepts more forms than HTTP has.
    package func date(_ name: String) -> Date? {
        guard let text = self[first: name] else { return nil }
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// The content codings of the body, in order, in lower case, without meaningless ones.
    package var contentCodings: [String] {
        // "none" is not a coding, but servers send it.
        words(of: "Content-Encoding", except: ["identity", "none"])
    }

    /// The first content coding that is not decoded. Servers send words that are no codings, such
    /// as `UTF-8`, so the body may be whole.
    package var unknownContentCoding: String? {
        contentCodings.first { !BodyDecoder.knows($0) }
    }

    /// The transfer codings of the message, without `chunked`.
    var transferCodings: [String] {
        words(of: "Transfer-Encoding", except: ["identity", "chunked"])
    }

    private func words(of name: String, except meaningless: [String]) -> [String] {
        values(of: name).flatMap { $0.split(separator: UInt8(ascii: ",")) }
            .map { Self.text($0).lowercased() }
            .filter { word in
                !word.isEmpty && !meaningless.contains { $0.utf8.elementsEqual(word.utf8) }
            }
    }

    /// Whether a field can be sent: its name is a token, and its value has no control characters
    /// (RFC 9110, section 5).
    package static func isSendable(name: some StringProtocol, value: some StringProtocol) -> Bool {
        func isToken(_ byte: UInt8) -> Bool {
            byte.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        return !name.isEmpty && name.utf8.allSatisfy(isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private typealias Line = ArraySlice<UInt8>

    private func values(of name: String) -> [Line] {
        var values: [Line] = []
        var rest = lines[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            if let value = Self.value(of: name, in: line) { values.append(value) }
            rest = rest[line.endIndex...].dropFirst()
        }
        return values
    }

    /// Returns the text after the colon, if the line's field has that name.
    private static func value(of name: String, in line: Line) -> Line? {
        func folded(_ byte: UInt8) -> UInt8 { byte >= 0x41 && byte <= 0x5A ? byte | 0x20 : byte }
        var index = line.startIndex
        for byte in name.utf8 {
            guard index < line.endIndex, folded(line[index]) == folded(byte) else { return nil }
            index += 1
        }
        guard index < line.endIndex, line[index] == UInt8(ascii: ":") else { return nil }
        return line[(index + 1)...]
    }

    private static func text(_ bytes: Line) -> String {
        String(decoding: withoutBlanks(bytes), as: UTF8.self)
    }

    private static func withoutBlanks(_ bytes: Line) -> Line {
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return bytes
    }

    /// One `Name: value` per line, as received: not safe for a terminal.
    package var description: String { String(decoding: lines, as: UTF8.self) }
}
