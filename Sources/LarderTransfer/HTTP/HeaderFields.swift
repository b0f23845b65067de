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

    /// The given fields. Line breaks in them are not supported.
    package init(_ fields: [(name: String, value: String)] = []) {
        lines = fields.flatMap { Array("\($0.name): \($0.value)\r\n".utf8) }
    }

    /// The value of the first field of that name, without the blanks around it.
    package subscript(first name: String) -> String? {
        var found: String?
        forEachLine { line in
            if let value = Self.value(of: name, in: line) { found = Self.text(value) }
            return found == nil
        }
        return found
    }

    /// The values of all fields of that name, in order.
    package func all(_ name: String) -> [String] {
        var found: [String] = []
        forEachLine { line in
            if let value = Self.value(of: name, in: line) { found.append(Self.text(value)) }
            return true
        }
        return found
    }

    /// What was done to the body before it was sent, in that order, in lower case; not what means
    /// nothing.
    package var contentCodings: [String] {
        words(of: "Content-Encoding").filter { word in
            // "none" is no coding's name, but servers say so, and clients take it.
            !["identity", "none"].contains { word.utf8.elementsEqual($0.utf8) }
        }
    }

    /// The same to the whole message, but for its parting into chunks.
    var transferCodings: [String] {
        words(of: "Transfer-Encoding")
            .filter { word in
                !["chunked", "identity"].contains { word.utf8.elementsEqual($0.utf8) }
            }
    }

    /// The members of a field that is a list of words, in lower case.
    private func words(of name: String) -> [String] {
        var words: [String] = []
        forEachLine { line in
            guard let value = Self.value(of: name, in: line) else { return true }
            for word in value.split(separator: UInt8(ascii: ",")) {
                let text = Self.text(word).lowercased()
                if !text.isEmpty { words.append(text) }
            }
            return true
        }
        return words
    }

    /// All fields, in order.
    package var fields: [(name: String, value: String)] {
        var found: [(name: String, value: String)] = []
        forEachLine { line in
            if let colon = line.firstIndex(of: UInt8(ascii: ":")) {
                found.append((Self.text(line[..<colon]), Self.text(line[(colon + 1)...])))
            }
            return true
        }
        return found
    }

    /// Whether a field can be sent as one: else its name is no token or its value has a line break
    /// or another control character in it, so that it would end up as something else (RFC 9110,
    /// section 5).
    package static func isSendable(name: some StringProtocol, value: some StringProtocol) -> Bool {
        func isToken(_ byte: UInt8) -> Bool {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"):
                true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
        return !name.isEmpty && name.utf8.allSatisfy(isToken)
            && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }
    }

    private typealias Line = Slice<UnsafeBufferPointer<UInt8>>

    /// Calls `body` with each line until it answers `false`.
    private func forEachLine(_ body: (Line) -> Bool) {
        lines.withUnsafeBufferPointer { bytes in
            var start = 0
            while start < bytes.count {
                let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) ?? bytes.count
                guard body(bytes[start..<end]) else { return }
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
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        var bytes = bytes.drop(while: isBlank)
        while let last = bytes.last, isBlank(last) { bytes.removeLast() }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension HeaderFields: CustomStringConvertible {
    /// One `Name: value` per line, as it came: not fit for a terminal.
    package var description: String {
        String(decoding: lines, as: UTF8.self)
    }
}
