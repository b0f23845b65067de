/// A manifest that begins with `[` or `{`: a JSON document, or JSON Lines.
///
/// Read in one pass without looking ahead, so that a pipe works and a document of one long line
/// takes no memory. Which of the two it is shows when the first object ends: if it has no place of
/// entries, it is the first entry of ``JSONLinesManifest``, whether or not others follow. White
/// space between tokens has no meaning (RFC 8259, section 2). A document that another value follows
/// is refused, because half of its icons would be missing.
struct JSONManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws -> ManifestFormat {
        let isObject = try window.peekBehindSeparators() == UInt8(ascii: "{")
        let (line, offset) = (window.line, window.offset)
        let cursor = JSONCursor(window, limits: limits)
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        let isDocument = { !isObject || walk.hasEntries || recognition.isExplicit }
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
        let next = try window.peekBehindSeparators()
        let isAlone = next == nil
        if isDocument() || isAlone {
            if isDocument(), !isAlone {
                if isObject, recognition.isExplicit, next == UInt8(ascii: "{") {
                    throw ManifestError(
                        .notAManifest, source: window.input.name, at: .line(window.line),
                        "of several JSON objects, each is an entry: there is no place for"
                            + " --entries")
                }
                throw cursor.unexpected("the end of the file")
            }
            if try walk.finish() { return .json }
        }
        guard !isDocument(), !isAlone || walk.root.hasIcon else {
            throw ManifestError(
                .notAManifest, source: window.input.name, at: .line(line), walk.refusal)
        }
        walk.dropHeld()
        var first = walk.root.entry
        // As one of several, it may be no larger than the others. Alone, it is a document, whose
        // other members may be of any size.
        if !isAlone {
            if let failure = walk.failure { first = .failure(failure) }
            if length > limits.maximumEntrySize { first = .failure(.tooLarge(limits)) }
        }
        let isStrange = walk.root.isEmpty && walk.hasStrangeMembers
        let shown = isStrange ? .success(.dictionary([.init(key: "", value: .null)])) : first
        let shape = recognition.lenientShape(of: shown, among: recognition.lineShapes)
        try emit(RawEntry(line: line, content: first, shape: shape))
        try readLines(emit, line)
        return .jsonLines
    }

    private func readLines(_ emit: (RawEntry) throws -> Void, _ line: Int) throws {
        try JSONLinesManifest(window: window, limits: limits).read { line, content in
            if recognition.isList(content) {
                throw ManifestError(
                    .malformed, source: window.input.name, at: .line(line),
                    "expected another entry, found a list of entries")
            }
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
