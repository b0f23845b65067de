import CCurl
import Foundation

/// The fields of an HTTP head, in the order they came: looked up by name whatever its case, and a
/// name may occur more than once (RFC 9110, section 5).
///
/// Kept as the bytes that came, `Name: value` line by line, and read when asked: of most heads one
/// or two fields are wanted.
package struct HeaderFields: Sendable {
    private let lines: [UInt8]

    /// `lines`: each one a name, a colon and a value, ending in a line feed.
    init(lines: [UInt8]) {
        self.lines = lines
    }

    /// The value of the first field of that name, without the blanks around it.
    package subscript(first name: String) -> String? {
        var found: String?
        forEachValue(of: name) { value in
            found = Self.text(value)
            return false
        }
        return found
    }

    /// The URL that the first field of that name has. Its bytes are kept, whatever their encoding.
    package func url(_ name: String) -> String? {
        var found: String?
        forEachValue(of: name) { value in
            found = String(urlBytes: Self.withoutBlanks(value))
            return false
        }
        return found
    }

    /// The values of all fields of that name, in order.
    package func all(_ name: String) -> [String] {
        var found: [String] = []
        forEachValue(of: name) { value in
            found.append(Self.text(value))
            return true
        }
        return found
    }

    /// The date that the first field of that name has, by libcurl's parser, which takes more forms
    /// than HTTP has; nil if it is none.
    package func date(_ name: String) -> Date? {
        guard let text = self[first: name] else { return nil }
        let seconds = curl_getdate(text, nil)
        return seconds == -1 ? nil : Date(timeIntervalSince1970: Double(seconds))
    }

    /// What was done to the body before it was sent, in that order, in lower case; not what means
    /// nothing.
    package var contentCodings: [String] {
        // "none" is not a coding's name, but servers say so, and clients take it.
        words(of: "Content-Encoding", except: ["identity", "none"])
    }

    /// The same to the whole message, but for its parting into chunks.
    var transferCodings: [String] {
        words(of: "Transfer-Encoding", except: ["identity", "chunked"])
    }

    /// The members of a field that is a list of words, in lower case.
    private func words(of name: String, except meaningless: [String]) -> [String] {
        var words: [String] = []
        forEachValue(of: name) { value in
            for word in value.split(separator: UInt8(ascii: ",")) {
                let text = Self.text(word).lowercased()
                let isMeaningless = meaningless.contains { $0.utf8.elementsEqual(text.utf8) }
                if !text.isEmpty, !isMeaningless { words.append(text) }
            }
            return true
        }
        return words
    }

    /// Whether a field can be sent as one: else its name is no token or its value has a line break
    /// or another control character in it, so that it would end up as something else (RFC 9110,
    /// section 5).
    package static func isSendable(name: some StringProtocol, value: some StringProtocol) -> Bool {
        func isToken(_ byte: UInt8) -> Bool {
            byte.isASCIILetterOrDigit || "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
        return !name.isEmpty && name.utf8.allSatisfy(isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    /// Calls `body` with what follows the colon in each field of that name, until it answers
    /// `false`.
    private func forEachValue(of name: String, _ body: (Line) -> Bool) {
        lines.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
                if let value = Self.value(of: name, in: bytes[start..<end]), !body(value) { return }
                start = end + 1
            }
        }
    }

    /// What follows the colon, if the line's field has that name.
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
}

extension HeaderFields: CustomStringConvertible {
    /// One `Name: value` per line, as it came: not fit for a terminal.
    package var description: String {
        String(decoding: lines, as: UTF8.self)
    }
}
