/// JSON values one behind the other: JSON Lines, what `jq` prints, and JSON text sequences (RFC
/// 7464). Each value is an entry. White space between its tokens has no meaning.
///
/// A broken value spoils no other. Line ends matter only there: they tell where the next value
/// begins.
struct JSONLinesManifest {
    let window: ByteWindow
    let limits: ManifestLimits

    /// Reads values to the end of the file.
    func read(
        _ body: (_ line: Int, Result<ManifestValue, EntryError>) throws -> Void
    ) throws {
        var lastLine = 0
        while try window.peekBehindSeparators() != nil {
            let line = window.line
            let indentation = line > lastLine ? window.column - 1 : 0
            let value = try take(indentation)
            lastLine = window.line
            try body(line, value)
        }
    }

    /// - Parameter indentation: the number of blanks before the value on its line.
    private func take(_ indentation: Int) throws -> Result<ManifestValue, EntryError> {
        while true {
            let isWithinLimit = window.count <= limits.maximumEntrySize
            let bytes = window.unread.prefix(limits.maximumEntrySize)
            var parser = JSONParser(
                UnsafeBufferPointer(rebasing: bytes), isWhole: window.isAtEnd && isWithinLimit,
                maximumDepth: limits.maximumDepth, isOfLines: true)
            let value: ManifestValue
            do throws(JSONParser.Failure) {
                value = try parser.value()
            } catch {
                switch error {
                case .syntax(let offset, let reason):
                    return .failure(try skip(indentation, pastErrorAt: offset, reason))
                case .tooDeep:
                    try skip(indentation, pastErrorAt: parser.position)
                    return .failure(.tooDeep(limits))
                case .unfinished where !isWithinLimit:
                    try skip(indentation, pastErrorAt: bytes.count)
                    return .failure(.tooLarge(limits))
                case .unfinished:
                    if try window.fill() { continue }
                    try skip(indentation, pastErrorAt: window.count)
                    return .failure(.unfinishedLine)
                }
            }
            window.consume(parser.position)
            return try finish(value)
        }
    }

    /// The value if another one, or the end of the line, follows; otherwise consumes the line.
    private func finish(_ value: ManifestValue) throws -> Result<ManifestValue, EntryError> {
        guard try !window.isBetweenValues() else { return .success(value) }
        let found = JSONText.character(window.unread, at: 0)
        let error = EntryError.unparsableLine(
            column: window.column, "expected nothing more, found \(found)")
        try window.skipLine()
        return .failure(error)
    }

    private func skip(
        _ indentation: Int, pastErrorAt offset: Int, _ reason: String
    ) throws -> EntryError {
        guard case .line(let line, let column?) = window.place(at: offset) else {
            return .unfinishedLine
        }
        let first = window.line
        try skip(indentation, pastErrorAt: offset)
        if line == first { return .unparsableLine(column: column, reason) }
        // The next line begins another value, so the first one was cut.
        if window.line == first + 1 { return .unfinishedLine }
        return EntryError(.unparsableLine, "line \(line), column \(column): \(reason)")
    }

    /// Consumes the line of a broken value. If the error is on a later line, also consumes all
    /// lines up to the next line with a brace at the same indentation.
    ///
    /// - Parameter offset: the place of the error.
    private func skip(_ indentation: Int, pastErrorAt offset: Int) throws {
        let before = UnsafeBufferPointer(rebasing: window.unread.prefix(offset))
        let isWithinLine = before.place(of: 0x0A) == nil
        try window.skipLine()
        if isWithinLine { return }
        while try window.peek() != nil, try !isAtValue(indentation) { try window.skipLine() }
    }

    private func isAtValue(_ indentation: Int) throws -> Bool {
        while window.count <= indentation, try window.fill() {}
        let bytes = window.unread
        if bytes.first == UInt8.recordSeparator { return true }
        return bytes.count > indentation && bytes[indentation] == UInt8(ascii: "{")
            && bytes.prefix(indentation).allSatisfy { $0 == 0x20 || $0 == 0x09 }
    }
}

extension ByteWindow {
    /// Consumes what may be between two JSON values: white space, and the record separators of
    /// RFC 7464. Returns the byte behind it, not consumed; nil at the end.
    func peekBehindSeparators() throws -> UInt8? {
        while let byte = try peekBehindBlanks() {
            guard byte == .recordSeparator else { return byte }
            consume(1)
        }
        return nil
    }

    /// Whether the line ends here or continues with another JSON value, past blanks.
    func isBetweenValues() throws -> Bool {
        while let byte = try peek(), byte != 0x0A {
            guard byte.isJSONBlank else {
                return byte == .recordSeparator || byte.beginsJSONValue
            }
            consume(1)
        }
        return true
    }
}

extension UInt8 {
    /// RS, which begins each text of a sequence (RFC 7464, section 2.2).
    static let recordSeparator: UInt8 = 0x1E

    /// Whether a JSON value may begin with it.
    fileprivate var beginsJSONValue: Bool {
        isDigit || "[{\"-tfn".utf8.contains(self)
    }
}

extension EntryError {
    static let unfinishedLine = EntryError(
        .unparsableLine, "the line ends before its object does")

    static func unparsableLine(column: Int, _ reason: String) -> EntryError {
        EntryError(.unparsableLine, "column \(column): \(reason)")
    }
}
