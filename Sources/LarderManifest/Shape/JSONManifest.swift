import LarderCore

/// Reads JSON or JSON Lines without lookahead, so that pipes work and a long line takes no memory.
/// If the first object has no list of entries, the manifest is JSON Lines. A document followed by
/// another value is refused, because that value's icons would be missing.
extension ManifestDocument {
    func readJSON(_ emit: @escaping (RawEntry) throws -> Void) throws -> ManifestFormat {
        let isObject = try window.peekAfterSeparators() == UInt8(ascii: "{")
        let (line, offset) = (window.line, window.offset)
        let cursor = JSONCursor(window, limits: limits)
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        let isDocument = { !isObject || walk.hasEntries || recognition.isExplicit }
        cursor.mayBeJSONLines = { !isDocument() }
        // Breaks a reference cycle: the walk refers to the cursor.
        defer { cursor.mayBeJSONLines = { false } }
        do {
            try walk.walk()
            if isObject, !recognition.isExplicit, try !window.isBetweenValues() {
                throw cursor.unexpected("the end of the line")
            }
        } catch let error as ManifestError where error.code == .malformed && !isDocument() {
            let failure = try firstLineFailure(error, line, cursor)
            try emit(RawEntry(line: line, content: .failure(failure), shape: 0))
            try readLines(emit, line)
            return .jsonLines
        }
        let length = window.offset - offset
        let next = try window.peekAfterSeparators()
        let isAlone = next == nil
        if isDocument(), !isAlone {
            guard isObject, recognition.isExplicit, next == UInt8(ascii: "{")
            else { throw cursor.unexpected("the end of the file") }
            throw notAManifest(
                at: window.line,
                "the file has several JSON objects, each of which is an entry; remove --entries")
        }
        if isDocument() || isAlone, try walk.finish() { return .json }
        guard !isDocument(), !isAlone || walk.root.hasIcon
        else { throw notAManifest(at: line, walk.refusal) }
        // A single object is a document, whose unknown members may have any size.
        let isTooLarge = length > limits.maximumEntrySize
        try walk.emitRoot(line, isAlone ? nil : isTooLarge ? .tooLarge(limits) : walk.failure)
        try readLines(emit, line)
        return .jsonLines
    }

    /// Reads JSON Lines, the output of `jq`, and JSON text sequences (RFC 7464). Each value is an
    /// entry. A broken value does not affect values on later lines.
    private func readLines(_ emit: (RawEntry) throws -> Void, _ first: Int) throws {
        var lastLine = 0
        while try window.peekAfterSeparators() != nil {
            let line = window.line
            let content = try take(line > lastLine ? window.bytes.column - 1 : 0)
            lastLine = window.line
            if recognition.isList(content) {
                throw window.error(
                    .malformed, at: .line(line), "expected another entry, found a list of entries")
            }
            let shape = recognition.lenientShape(of: content, among: recognition.lineShapes)
            try emit(RawEntry(line: line, content: content, shape: shape))
        }
        guard !recognition.isStrange else { throw notAManifest(at: first, recognition.refusal) }
    }

    private func take(_ indentation: Int) throws -> Result<ManifestValue, EntryError> {
        let first = window.line
        let result = try window.parse(limits, isLines: true) {
            parser throws(JSONParser.Error) in try parser.value()
        }
        switch result {
        case .success(let value):
            guard try !window.isBetweenValues() else { return .success(value) }
            let found = JSONText.character(window.unread, at: 0)
            let error = EntryError.unparsableLine(
                column: window.bytes.column, "expected the end of the line, found \(found)")
            try window.skipLine()
            return .failure(error)
        case .failure(.syntax(let offset, let reason)):
            let place = window.place(at: offset)
            try skip(indentation, pastErrorAt: offset)
            if case .line(first, let column?) = place {
                return .failure(.unparsableLine(column: column, reason))
            }
            if window.line == first + 1 { return .failure(.unfinishedLine) }
            return .failure(EntryError(.unparsableLine, "\(place): \(reason)"))
        case .failure(.tooDeep(let offset)):
            try skip(indentation, pastErrorAt: offset)
            return .failure(.tooDeep(limits))
        case .failure(.tooLarge):
            try skip(indentation, pastErrorAt: limits.maximumEntrySize)
            return .failure(.tooLarge(limits))
        case .failure(.unfinished):
            try skip(indentation, pastErrorAt: window.count)
            return .failure(.unfinishedLine)
        }
    }

    /// Skips a broken value's line. If the error is in a later line, skips to the next value.
    private func skip(_ indentation: Int, pastErrorAt offset: Int) throws {
        let before = UnsafeBufferPointer(rebasing: window.unread.prefix(offset))
        let isWithinLine = before.place(of: 0x0A) == nil
        try window.skipLine()
        if isWithinLine { return }
        while try window.peek() != nil, try !isAtValue(indentation) { try window.skipLine() }
    }

    private func isAtValue(_ indentation: Int) throws -> Bool {
        try window.fill(to: indentation + 1)
        let bytes = window.unread
        if bytes.first == UInt8.recordSeparator { return true }
        return bytes.count > indentation && bytes[indentation] == UInt8(ascii: "{")
            && bytes.prefix(indentation).allSatisfy(\.isBlank)
    }

    /// Skips the broken first value. Throws `error` if the next line may be in the same document.
    private func firstLineFailure(
        _ error: ManifestError, _ first: Int, _ cursor: JSONCursor
    ) throws -> EntryError {
        guard case .line(let line, let column?) = error.place else { throw error }
        if line == first {
            try window.skipLine()
            guard try window.peekAfterBlanks() == UInt8(ascii: "{") else { throw error }
            return .unparsableLine(column: column, error.reason)
        }
        guard cursor.lastLine == first, error.place == window.place(),
            try window.peek() == UInt8(ascii: "{")
        else { throw error }
        return .unfinishedLine
    }
}
