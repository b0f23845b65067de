import LarderCore

/// A parser of JSON (RFC 8259). Unlike the RFC, it accepts comments, trailing commas and invalid
/// strings. A string with invalid UTF-8, an unpaired escaped surrogate (section 8.2), a control
/// character or an unknown escape (section 7) becomes ``ManifestValue/invalidText``. A key that is
/// invalid matches no known key. Integers outside the range of `Int` become doubles.
struct JSONParser {
    let bytes: UnsafeBufferPointer<UInt8>
    /// Whether the input ends after ``bytes``. If so, a number at the end is complete.
    let isWhole: Bool
    let maximumDepth: Int
    /// Whether each line is a separate value, so that a line break in a string is an error.
    var isLines = false
    /// The offset of ``bytes`` in the manifest.
    var offset = 0
    private(set) var position = 0

    enum Error: Swift.Error {
        case unfinished
        case tooLarge
        case tooDeep(at: Int)
        case syntax(at: Int, String)
    }

    mutating func key() throws(Error) -> String {
        guard try next() == UInt8(ascii: "\"") else { throw unexpected("a key in quotation marks") }
        return try string().text
    }

    mutating func value(depth: Int = 1) throws(Error) -> ManifestValue {
        switch try next() {
        case UInt8(ascii: "\""):
            let start = position
            let (text, isValid) = try string()
            let span = SourceSpan(offset + start..<offset + position)
            return isValid ? .string(text, at: span) : .invalidText
        case UInt8(ascii: "{"): return .dictionary(try members(depth: depth))
        case UInt8(ascii: "["): return .array(try elements(depth: depth))
        case UInt8(ascii: "t"): return try literal("true", .bool(true))
        case UInt8(ascii: "f"): return try literal("false", .bool(false))
        case UInt8(ascii: "n"): return try literal("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return try number()
        default: throw unexpected("a value")
        }
    }

    private mutating func members(depth: Int) throws(Error) -> [ManifestValue.Member] {
        var members: [ManifestValue.Member] = []
        try forEachItem(until: UInt8(ascii: "}"), "',' or '}'", depth) { parser throws(Error) in
            let key = try parser.key()
            guard try parser.next() == UInt8(ascii: ":") else { throw parser.unexpected("':'") }
            parser.position += 1
            if members.isEmpty { members.reserveCapacity(4) }
            members.append(.init(key: key, value: try parser.value(depth: depth + 1)))
        }
        return members
    }

    private mutating func elements(depth: Int) throws(Error) -> [ManifestValue] {
        var elements: [ManifestValue] = []
        try forEachItem(until: UInt8(ascii: "]"), "',' or ']'", depth) { parser throws(Error) in
            elements.append(try parser.value(depth: depth + 1))
        }
        return elements
    }

    private mutating func forEachItem(
        until end: UInt8, _ wanted: String, _ depth: Int,
        _ read: (inout JSONParser) throws(Error) -> Void
    ) throws(Error) {
        guard depth <= maximumDepth else { throw .tooDeep(at: position) }
        position += 1
        while try next() != end {
            try read(&self)
            if try next() == UInt8(ascii: ",") {
                position += 1
            } else if try next() != end {
                throw unexpected(wanted)
            }
        }
        position += 1
    }

    private mutating func next() throws(Error) -> UInt8 {
        while position < bytes.count {
            let byte = bytes[position]
            if byte.isMarkupBlank {
                position += 1
            } else {
                guard byte == UInt8(ascii: "/"), try skipComment() else { return byte }
            }
        }
        throw .unfinished
    }

    private mutating func skipComment() throws(Error) -> Bool {
        guard position + 1 < bytes.count else { throw .unfinished }
        let isBlock = bytes[position + 1] == UInt8(ascii: "*")
        guard isBlock || bytes[position + 1] == UInt8(ascii: "/") else { return false }
        var last = position + 2
        while let found = bytes.place(of: isBlock ? UInt8(ascii: "/") : 0x0A, from: last) {
            if !isBlock || found > position + 2 && bytes[found - 1] == UInt8(ascii: "*") {
                position = found + 1
                return true
            }
            last = found + 1
        }
        throw .unfinished
    }

    private func unexpected(_ wanted: String) -> Error {
        let found = JSONText.character(bytes, at: position)
        return .syntax(at: position, "expected \(wanted), found \(found)")
    }

    private mutating func literal(
        _ text: StaticString, _ value: ManifestValue
    ) throws(Error) -> ManifestValue {
        let word = UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount)
        let rest = bytes[position...].prefix(word.count)
        guard word.starts(with: rest)
        else { throw .syntax(at: position, "unknown word; expected true, false or null") }
        guard rest.count == word.count else { throw .unfinished }
        position += word.count
        return value
    }

    private mutating func number() throws(Error) -> ManifestValue {
        let start = position
        var isInteger = true
        if bytes[position] == UInt8(ascii: "-") { position += 1 }
        let first = position
        try digits("a digit")
        if bytes[first] == UInt8(ascii: "0"), position > first + 1 {
            throw .syntax(at: first, "a number has a leading zero")
        }
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits("a digit after the decimal point")
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            isInteger = false
            position += 1
            if position < bytes.count, "+-".utf8.contains(bytes[position]) { position += 1 }
            try digits("a digit in the exponent")
        }
        guard position < bytes.count || isWhole else { throw .unfinished }
        let spelling = String(decoding: bytes[start..<position], as: UTF8.self)
        if isInteger, let integer = Int(spelling) { return .integer(integer) }
        guard let double = Double(spelling) else { throw .syntax(at: start, "not a number") }
        return .double(double)
    }

    private mutating func digits(_ wanted: String) throws(Error) {
        let start = position
        while position < bytes.count, bytes[position].isDigit { position += 1 }
        guard position == start else { return }
        throw position == bytes.count ? .unfinished : unexpected(wanted)
    }

    /// Parses a string. Invalid bytes become U+FFFD.
    private mutating func string() throws(Error) -> (text: String, isValid: Bool) {
        let start = position + 1
        var hasEscapes = false
        var hasControls = false
        var isASCII = true
        position = start
        scan: while true {
            guard position < bytes.count else { throw .unfinished }
            switch bytes[position] {
            case 0x5D..<0x80, 0x23..<0x5C: break  // first, because most bytes are plain
            case UInt8(ascii: "\""): break scan
            case UInt8(ascii: "\\"):
                hasEscapes = true
                position += 1
                guard position < bytes.count else { throw .unfinished }
                // The next iteration handles a control character after a backslash.
                if bytes[position] < 0x20 { continue }
            case 0x0A where isLines, 0x0D where isLines:
                throw .syntax(at: position, "the line ends inside a string")
            case ..<0x20: hasControls = true
            case 0x80...: isASCII = false
            default: break
            }
            position += 1
        }
        let text = UnsafeBufferPointer(rebasing: bytes[start..<position])
        position += 1
        if hasControls { return (String(decoding: text, as: UTF8.self), false) }
        if hasEscapes { return Self.decoded(JSONText.unescaped(text)) }
        // Validation takes several times as long as decoding ASCII.
        return isASCII ? (String(decoding: text, as: UTF8.self), true) : Self.decoded(text)
    }

    private static func decoded(_ bytes: some Collection<UInt8>) -> (text: String, isValid: Bool) {
        if let text = String(validating: bytes, as: UTF8.self) { return (text, true) }
        return (String(decoding: bytes, as: UTF8.self), false)
    }
}
