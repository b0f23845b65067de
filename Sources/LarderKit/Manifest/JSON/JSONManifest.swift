/// A manifest that begins with `[` or `{`: a JSON document, or JSON Lines.
///
/// Read in one pass without looking ahead, so that a pipe works and a document of one long line
/// takes no memory. Which of the two it is shows when the first object ends: without a place of
/// entries, and on the line that it began on, it was the first of JSON Lines.
struct JSONManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws -> ManifestFormat {
        let isObject = try window.peekBehindBlanks() == UInt8(ascii: "{")
        let (line, offset) = (window.line, window.offset)
        let cursor = JSONCursor(window, limits: limits)
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        let isDocument = { !isObject || walk.hasEntries || recognition.isExplicit }
        do {
            try walk.walk()
            if isObject, !recognition.isExplicit, try window.peekBehindBlanks() != nil,
                window.line == cursor.lastLine
            {
                throw cursor.unexpected("the end of the line")
            }
        } catch let error as ManifestError where error.code == .malformed && !isDocument() {
            let failure = try firstLineFailure(error, line, cursor)
            try emit(RawEntry(line: line, content: .failure(failure), shape: 0))
            try readLines(emit, line)
            return .jsonLines
        }
        let length = window.offset - offset
        let isAlone = try window.peekBehindBlanks() == nil
        if isDocument() || isAlone {
            if isDocument(), !isAlone {
                if isObject, recognition.isExplicit, window.line > cursor.lastLine {
                    throw ManifestError(
                        .notAManifest, source: window.input.name, at: .line(window.line),
                        "of JSON Lines, each line is an entry: there is no place for --entries")
                }
                throw cursor.unexpected("the end of the file")
            }
            if try walk.finish() { return .json }
        }
        guard !isDocument(), cursor.lastLine == line, !isAlone || walk.root.hasIcon else {
            throw ManifestError(
                .notAManifest, source: window.input.name, at: .line(line), walk.refusal)
        }
        var first = walk.root.entry
        if let failure = cursor.failure { first = .failure(failure) }
        if length > limits.maximumEntrySize { first = .failure(.tooLarge(limits)) }
        let isStrange = walk.root.isEmpty && walk.hasStrangeMembers
        let shown = isStrange ? .success(.dictionary([.init(key: "", value: .null)])) : first
        let shape = recognition.lenientShape(of: shown, among: recognition.lineShapes)
        try emit(RawEntry(line: line, content: first, shape: shape))
        try readLines(emit, line)
        return .jsonLines
    }

    private func readLines(_ emit: (RawEntry) throws -> Void, _ line: Int) throws {
        try JSONLinesManifest(window: window, limits: limits).read { line, content in
            let shape = recognition.lenientShape(of: content, among: recognition.lineShapes)
            try emit(RawEntry(line: line, content: content, shape: shape))
        }
        guard !recognition.isStrange else {
            throw ManifestError(
                .notAManifest, source: window.input.name, at: .line(line), recognition.refusal)
        }
    }

    /// What is wrong with the first of JSON Lines, consumed to its end; throws `error` if the file
    /// is not JSON Lines. That it is shows in the next line, which begins with a brace where no
    /// JSON document has one.
    private func firstLineFailure(
        _ error: ManifestError, _ first: Int, _ cursor: JSONCursor
    ) throws -> EntryError {
        guard case .line(let line, let column?) = error.place else { throw error }
        if line == first {
            try window.skipLine()
            guard try window.peekBehindBlanks() == UInt8(ascii: "{") else { throw error }
            return .unparsableLine(column: column, error.reason)
        }
        guard cursor.lastLine == first, error.place == window.place(),
            try window.peek() == UInt8(ascii: "{")
        else { throw error }
        return .unfinishedLine
    }
}
