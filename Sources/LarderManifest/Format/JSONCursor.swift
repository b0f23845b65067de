final class JSONCursor: ManifestCursor {
    private(set) var lastLine = 0
    var mayBeJSONLines: () -> Bool = { false }
    private let window: ByteWindow
    private let limits: ManifestLimits
    private var nextOffset = -1

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        self.limits = limits
    }

    var line: Int? { window.line }
    var progress: Int { window.offset }

    func kind() throws -> ValueKind {
        switch try next() {
        case UInt8(ascii: "{"): .dictionary
        case UInt8(ascii: "["): .array
        default: .scalar
        }
    }

    /// Returns the value. If it is too large or too deep, skips it and checks only its brackets.
    func take() throws -> Result<ManifestValue, EntryError> {
        try parse { parser throws(JSONParser.Error) in try parser.value() }
    }

    @discardableResult func skip() throws -> EntryError? {
        // Even a skipped value is parsed, because any error makes the whole document invalid.
        if case .failure(let error) = try take() { error } else { nil }
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try forEachItem(until: UInt8(ascii: "}"), "',' or '}'") {
            let key = try parse { parser throws(JSONParser.Error) in try parser.key() }
            guard try next() == UInt8(ascii: ":") else { throw unexpected("':'") }
            window.consume(1)
            _ = try next()
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        try forEachItem(until: UInt8(ascii: "]"), "',' or ']'", body)
    }

    private func forEachItem(until end: UInt8, _ wanted: String, _ body: () throws -> Void) throws {
        window.consume(1)
        while try next() != end {
            try body()
            if try next() == UInt8(ascii: ",") {
                window.consume(1)
            } else if try next() != end {
                throw unexpected(wanted)
            }
        }
        window.consume(1)
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        window.error(code, reason)
    }

    func unexpected(_ wanted: String) -> ManifestError {
        let found = JSONText.character(window.unread, at: 0)
        return window.error(.malformed, "expected \(wanted), found \(found)")
    }

    private func next() throws -> UInt8 {
        if window.offset != nextOffset { lastLine = window.line }
        guard let byte = try window.peekAfterComments() else { throw truncated }
        nextOffset = window.offset
        return byte
    }

    private func parse<Value>(
        _ read: (inout JSONParser) throws(JSONParser.Error) -> Value
    ) throws -> Result<Value, EntryError> {
        _ = try next()
        let failure: EntryError
        switch try window.parse(limits, isLines: mayBeJSONLines(), read) {
        case .success(let value): return .success(value)
        case .failure(.syntax(let offset, let reason)):
            throw window.error(.malformed, at: offset, reason)
        case .failure(.unfinished): throw truncated
        case .failure(.tooDeep): failure = .tooDeep(limits)
        case .failure(.tooLarge): failure = .tooLarge(limits)
        }
        try skipUnread()
        return .failure(failure)
    }

    private func skipUnread() throws {
        var depth = 0
        while true {
            switch try next() {
            case UInt8(ascii: "\""): try skipString()
            case UInt8(ascii: "["), UInt8(ascii: "{"):
                window.consume(1)
                depth += 1
            // A comma or the enclosing value's bracket ends a number or a literal.
            case let byte where depth == 0 && ",]}".utf8.contains(byte): return
            case UInt8(ascii: "]"), UInt8(ascii: "}"):
                window.consume(1)
                depth -= 1
            default:
                window.consume(1)
                continue
            }
            if depth == 0 { return }
        }
    }

    private func skipString() throws {
        window.consume(1)
        while try window.peek() != nil {
            window.consume(window.unread.prefix { $0 != 0x22 && $0 != 0x5C }.count)
            guard let mark = window.unread.first else { continue }
            if mark == UInt8(ascii: "\"") { return window.consume(1) }
            try window.fill(to: 2)
            window.consume(min(2, window.count))
        }
        throw truncated
    }

    private var truncated: ManifestError {
        window.error(
            .malformed, at: window.count, "the file ends before all arrays and objects are closed")
    }
}

extension ByteWindow {
    /// Consumes nothing on failure. Parses again after each fill, because the parser cannot pause.
    func parse<Value>(
        _ limits: ManifestLimits, isLines: Bool,
        _ read: (inout JSONParser) throws(JSONParser.Error) -> Value
    ) throws -> Result<Value, JSONParser.Error> {
        while true {
            let isWithinLimit = count <= limits.maximumEntrySize
            let bytes = unread.prefix(limits.maximumEntrySize)
            var parser = JSONParser(
                bytes: UnsafeBufferPointer(rebasing: bytes), isWhole: isAtEnd && isWithinLimit,
                maximumDepth: limits.maximumDepth, isLines: isLines, offset: offset)
            do throws(JSONParser.Error) {
                let value = try read(&parser)
                consume(parser.position)
                return .success(value)
            } catch {
                guard case .unfinished = error else { return .failure(error) }
                guard isWithinLimit else { return .failure(.tooLarge) }
                guard try fill() else { return .failure(error) }
            }
        }
    }

    func peekAfterComments() throws -> UInt8? {
        while let byte = try peekAfterBlanks() {
            guard byte == UInt8(ascii: "/"), let isBlock = try peekComment() else { return byte }
            consume(2)
            if isBlock { try skipBlockComment() } else { try skipLine() }
        }
        return nil
    }

    /// Returns whether a block comment begins, or nil if no comment begins.
    private func peekComment() throws -> Bool? {
        try fill(to: 2)
        return unread.starts(with: "/*".utf8) ? true : unread.starts(with: "//".utf8) ? false : nil
    }

    private func skipBlockComment() throws {
        var hasStar = false
        while let byte = try peek() {
            consume(1)
            if hasStar, byte == UInt8(ascii: "/") { return }
            hasStar = byte == UInt8(ascii: "*")
        }
    }

    /// Skips white space, comments and the separators of RFC 7464.
    func peekAfterSeparators() throws -> UInt8? {
        while let byte = try peekAfterComments() {
            guard byte == .recordSeparator else { return byte }
            consume(1)
        }
        return nil
    }

    /// Whether the rest of the line is blank, or begins with a comment or another JSON value.
    func isBetweenValues() throws -> Bool {
        while let byte = try peek(), byte != 0x0A {
            if byte == UInt8(ascii: "/") { return try peekComment() != nil }
            guard byte.isMarkupBlank else {
                return byte == .recordSeparator || byte.isDigit || "[{\"-tfn".utf8.contains(byte)
            }
            consume(1)
        }
        return true
    }
}

extension UInt8 {
    /// The separator before each text in a JSON text sequence (RFC 7464, section 2.2).
    static let recordSeparator: UInt8 = 0x1E
}

extension EntryError {
    static let unfinishedLine = EntryError(
        .unparsableLine, "the line ends before its object is closed")

    static func unparsableLine(column: Int, _ reason: String) -> EntryError {
        EntryError(.unparsableLine, "column \(column): \(reason)")
    }
}
