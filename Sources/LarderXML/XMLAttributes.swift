import LarderCore

package struct XMLAttribute: Equatable, Sendable {
    /// The name with its prefix. Untrusted text.
    package let name: String
    /// The value, with references replaced. Untrusted text.
    package let value: String
    /// The file offsets of the value with its quotation marks, or nil if unknown.
    package let place: Range<Int>?
}

/// A conversion from the decoded text to offsets in the file.
package struct XMLOffsets: Sendable {
    let start: Int
    /// The bytes per code unit: 1 in ISO-8859-1, 2 in UTF-16. Nil if decoding keeps the length.
    let unitSize: Int?

    package init(from start: Int, unitSize: Int? = nil) {
        self.start = start
        self.unitSize = unitSize
    }

    func length(of text: Slice<UnsafeBufferPointer<UInt8>>) -> Int {
        guard let unitSize else { return text.count }
        // A character with four bytes in UTF-8 has two code units in UTF-16.
        let units = text.reduce(0) { $1 & 0xC0 == 0x80 ? $0 : $0 + ($1 < 0xF0 ? 1 : 2) }
        return units * unitSize
    }
}

struct XMLTextPlace {
    /// The start of the current part. Comments and instructions divide text into parts.
    var start: Int
    private var hasText = false
    private var isDivided = false
    /// At most two previous parts with visible text.
    private var parts: [Range<Int>] = []

    init(from start: Int) { self.start = start }

    mutating func note(_ text: some Sequence<UInt8>) {
        if !hasText { hasText = !text.allSatisfy(\.isMarkupBlank) }
    }

    mutating func divide(at end: Int) {
        if hasText, parts.count < 2 { parts.append(start..<end) }
        (hasText, isDivided) = (false, true)
    }

    /// Returns the whole range or, if the text is divided, its only part that is not blank.
    func range(upTo end: Int) -> Range<Int>? {
        guard isDivided else { return start..<end }
        let parts = hasText ? parts + [start..<end] : parts
        return parts.count == 1 ? parts[0] : nil
    }
}

struct XMLPassedTag {
    /// The element's index in ``XMLRules/elements``, or nil if it is not listed there.
    let element: Int?
    let line: Int
    /// The file offsets of the text before the tag, or nil if unknown.
    let text: Range<Int>?
    let attributes: [XMLAttribute]
    let size: Int
}

package enum XMLReference {
    static func code(_ digits: Slice<UnsafeBufferPointer<UInt8>>) -> UInt64? {
        let isHex = digits.first == UInt8(ascii: "x")
        let digits = digits.dropFirst(isHex ? 1 : 0)
        // The initializer of `UInt64` accepts a sign.
        guard digits.first?.hexDigit != nil else { return nil }
        return UInt64(String(decoding: digits, as: UTF8.self), radix: isHex ? 16 : 10)
    }

    /// Whether XML 1.0 (section 2.2) forbids the character, even as a reference.
    package static func isForbidden(_ code: UInt64) -> Bool {
        switch code {
        case 0x09, 0x0A, 0x0D: false
        case ..<0x20, 0xD800...0xDFFF, 0xFFFE...0xFFFF: true
        default: code > 0x10FFFF
        }
    }

    /// Returns the character of a predefined entity (XML 1.0, section 4.6).
    static func entity(_ name: Slice<UnsafeBufferPointer<UInt8>>) -> UInt8? {
        let known = zip(["amp", "lt", "gt", "quot", "apos"], "&<>\"'".utf8)
        return known.first { name.elementsEqual($0.0.utf8) }?.1
    }
}

struct XMLAttributeParser {
    /// Limited, because each attribute in a tag is compared with all previous ones.
    static let maximumCount = 256
    static let maximumName = 1 << 10

    private(set) var hasForbiddenReference = false
    let bytes: UnsafeBufferPointer<UInt8>
    let line: Int
    let replacement: UInt8?
    let offsets: XMLOffsets?
    var index = 0
    var offset: Int

    mutating func attributes(from start: Int) throws(XMLError) -> [XMLAttribute] {
        var attributes: [XMLAttribute] = []
        move(to: start)
        while true {
            let hasBlank = skipBlanks()
            guard index < bytes.count else { return attributes }
            guard hasBlank
            else { throw error(.malformed, "white space is missing before an attribute") }
            guard attributes.count < Self.maximumCount else {
                throw error(.tooLarge, "an element has more than \(Self.maximumCount) attributes")
            }
            let name = try name()
            guard !attributes.contains(where: { $0.name.utf8.elementsEqual(name.utf8) })
            else { throw error(.malformed, "the attribute \(name.quoted(limit: 64)) occurs twice") }
            skipBlanks()
            guard index < bytes.count, bytes[index] == UInt8(ascii: "=")
            else { throw error(.malformed, "the attribute \(name.quoted(limit: 64)) has no value") }
            move(to: index + 1)
            skipBlanks()
            guard index < bytes.count, case let quote = bytes[index], "\"'".utf8.contains(quote),
                let end = bytes.place(of: quote, from: index + 1)
            else {
                throw error(
                    .malformed, "the value of the attribute \(name.quoted(limit: 64)) is not quoted"
                )
            }
            let value = try value(bytes[(index + 1)..<end])
            let start = offset
            move(to: end + 1)
            attributes.append(
                .init(name: name, value: value, place: offsets.map { _ in start..<offset }))
        }
    }

    private mutating func move(to next: Int) {
        offset += offsets?.length(of: bytes[index..<next]) ?? 0
        index = next
    }

    @discardableResult private mutating func skipBlanks() -> Bool {
        let blanks = bytes[index...].prefix { $0.isMarkupBlank }
        move(to: blanks.endIndex)
        return !blanks.isEmpty
    }

    private mutating func name() throws(XMLError) -> String {
        let name = bytes[index...].prefix {
            $0.isASCIILetterOrDigit || $0 >= 0x80 || "_:-.".utf8.contains($0)
        }
        guard let first = name.first, !first.isDigit, !"-.".utf8.contains(first)
        else { throw error(.malformed, "expected the name of an attribute") }
        guard name.count <= Self.maximumName
        else { throw error(.tooLarge, "a name has more than \(Self.maximumName) bytes") }
        move(to: name.endIndex)
        return String(decoding: name, as: UTF8.self)
    }

    /// Replaces references, and normalizes white space as XML 1.0 (section 3.3.3) requires.
    private mutating func value(
        _ text: Slice<UnsafeBufferPointer<UInt8>>
    ) throws(XMLError) -> String {
        guard text.contains(where: { $0 == UInt8(ascii: "&") || $0 < 0x20 })
        else { return String(decoding: text, as: UTF8.self) }
        var value: [UInt8] = []
        value.reserveCapacity(text.count)
        var next = text.startIndex
        while next < text.endIndex {
            let byte = text[next]
            next += 1
            switch byte {
            case 0x0D where text[next...].first == 0x0A: continue
            case 0x09, 0x0A, 0x0D: value.append(UInt8(ascii: " "))
            case UInt8(ascii: "&"):
                let rest = text[next...].prefix(XMLFilter.maximumReference)
                guard let end = rest.firstIndex(of: UInt8(ascii: ";"))
                else { throw error(.malformed, "'&' does not start a reference") }
                try append(rest[..<end], to: &value)
                next = end + 1
            default: value.append(byte)
            }
        }
        return String(decoding: value, as: UTF8.self)
    }

    private mutating func append(
        _ reference: Slice<UnsafeBufferPointer<UInt8>>, to value: inout [UInt8]
    ) throws(XMLError) {
        if let character = XMLReference.entity(reference) { return value.append(character) }
        if reference.first == UInt8(ascii: "#"),
            let code = XMLReference.code(reference.dropFirst())
        {
            if !XMLReference.isForbidden(code), let scalar = Unicode.Scalar(UInt32(code)) {
                return value += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
            }
            if let replacement {
                hasForbiddenReference = true
                return value.append(replacement)
            }
        }
        let name = String(decoding: reference, as: UTF8.self)
        throw error(.malformed, "the reference \("&\(name);".quoted()) is unknown")
    }

    private func error(_ code: XMLError.Code, _ reason: String) -> XMLError {
        XMLError(code: code, line: line, reason: reason)
    }
}
