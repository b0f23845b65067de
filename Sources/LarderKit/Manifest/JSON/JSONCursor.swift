/// A JSON document, value by value.
final class JSONCursor: ManifestCursor {
    /// The line of the last byte taken that is not blank.
    private(set) var lastLine: Int
    /// What was wrong with a value that was only passed over.
    private(set) var failure: EntryError?
    private let window: ByteWindow
    private let elements: JSONElementReader

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        elements = JSONElementReader(window: window, limits: limits)
        lastLine = window.line
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

    func take() throws -> Result<ManifestValue, EntryError> {
        let value = try elements.value()
        lastLine = window.line
        return value
    }

    func skip() throws {
        // Checked like any other: a document that is broken anywhere is none.
        if case .failure(let error) = try take() { failure = error }
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try consume()
        if try next() == UInt8(ascii: "}") { return try consume() }
        while true {
            let key = try elements.key()
            if case .failure(let error) = key { failure = error }
            lastLine = window.line
            guard try next() == UInt8(ascii: ":") else { throw unexpected("':'") }
            try consume()
            _ = try next()
            try body(key)
            lastLine = window.line
            switch try next() {
            case UInt8(ascii: ","): try consume()
            case UInt8(ascii: "}"): return try consume()
            default: throw unexpected("',' or '}'")
            }
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        window.consume(1)
        if try next() == UInt8(ascii: "]") { return window.consume(1) }
        while true {
            _ = try next()
            try body()
            switch try next() {
            case UInt8(ascii: ","): window.consume(1)
            case UInt8(ascii: "]"): return window.consume(1)
            default: throw unexpected("',' or ']'")
            }
        }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        window.error(code, reason)
    }

    /// What stands where something else is due.
    func unexpected(_ wanted: String) -> ManifestError {
        let found = JSONText.character(window.unread, at: 0)
        return window.error(.malformed, "expected \(wanted), found \(found)")
    }

    private func consume() throws {
        window.consume(1)
        lastLine = window.line
    }

    /// The next byte behind white space, not consumed.
    private func next() throws -> UInt8 {
        guard let byte = try window.peekBehindBlanks() else {
            throw JSONElementReader.truncated(window)
        }
        return byte
    }
}
