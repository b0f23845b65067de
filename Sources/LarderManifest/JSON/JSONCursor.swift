/// A JSON document, value by value.
///
/// A value is parsed where it lies in the window; if the window ends within it, the window is
/// filled and the value parsed anew, so that the parser itself never has to stop and resume.
final class JSONCursor: ManifestCursor {
    /// The line of the last byte taken that is not blank.
    private(set) var lastLine: Int
    /// Whether the values may turn out to be those of JSON Lines.
    var mayBeLines: () -> Bool = { false }
    private let window: ByteWindow
    private let limits: ManifestLimits

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        self.limits = limits
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

    /// Takes one value. One that is too large or too deep is skipped, and all that is checked of it
    /// is that its brackets balance.
    func take() throws -> Result<ManifestValue, EntryError> {
        let value = try parse { parser throws(JSONParser.Failure) in try parser.value() }
        lastLine = window.line
        return value
    }

    @discardableResult func skip() throws -> EntryError? {
        // Checked like any other: a document that is broken anywhere is not one.
        if case .failure(let error) = try take() { error } else { nil }
    }

    func skip(lookingOver body: (JSONCursor) throws -> Void) throws { try body(self) }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try forEachItem(until: UInt8(ascii: "}"), "',' or '}'") {
            let key = try parse { parser throws(JSONParser.Failure) in try parser.key() }
            lastLine = window.line
            guard try next() == UInt8(ascii: ":") else { throw unexpected("':'") }
            consume()
            _ = try next()
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        try forEachItem(until: UInt8(ascii: "]"), "',' or ']'") {
            _ = try next()
            try body()
        }
    }

    private func forEachItem(until end: UInt8, _ wanted: String, _ body: () throws -> Void) throws {
        consume()
        if try next() == end { return consume() }
        while true {
            try body()
            lastLine = window.line
            switch try next() {
            case UInt8(ascii: ","): consume()
            case end: return consume()
            default: throw unexpected(wanted)
            }
        }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        window.error(code, reason)
    }

    /// An error that says what was found instead.
    func unexpected(_ wanted: String) -> ManifestError {
        let found = JSONText.character(window.unread, at: 0)
        return window.error(.malformed, "expected \(wanted), found \(found)")
    }

    private func consume() {
        window.consume(1)
        lastLine = window.line
    }

    /// The next byte behind white space, not consumed.
    private func next() throws -> UInt8 {
        guard let byte = try window.peekBehindBlanks() else { throw truncated }
        return byte
    }

    private func parse<Value>(
        _ read: (inout JSONParser) throws(JSONParser.Failure) -> Value
    ) throws -> Result<Value, EntryError> {
        _ = try window.peekBehindBlanks()
        while true {
            let isWithinLimit = window.count <= limits.maximumEntrySize
            let bytes = window.unread.prefix(limits.maximumEntrySize)
            var parser = JSONParser(
                UnsafeBufferPointer(rebasing: bytes), isWhole: window.isAtEnd && isWithinLimit,
                maximumDepth: limits.maximumDepth, isOfLines: mayBeLines())
            do throws(JSONParser.Failure) {
                let value = try read(&parser)
                window.consume(parser.position)
                return .success(value)
            } catch {
                switch error {
                case .syntax(let offset, let reason):
                    throw window.error(.malformed, at: offset, reason)
                case .tooDeep:
                    try skipUnread()
                    return .failure(.tooDeep(limits))
                case .unfinished where !isWithinLimit:
                    try skipUnread()
                    return .failure(.tooLarge(limits))
                case .unfinished:
                    guard try window.fill() else { throw truncated }
                }
            }
        }
    }

    /// Consumes one value of any size and depth without recursion.
    private func skipUnread() throws {
        var depth = 0
        var isInString = false
        var isEscaped = false
        repeat {
            for (index, byte) in window.unread.enumerated() {
                if isInString {
                    if isEscaped {
                        isEscaped = false
                    } else if byte == UInt8(ascii: "\\") {
                        isEscaped = true
                    } else if byte == UInt8(ascii: "\"") {
                        isInString = false
                        if depth == 0 { return window.consume(index + 1) }
                    }
                    continue
                }
                switch byte {
                case UInt8(ascii: "\""): isInString = true
                case UInt8(ascii: "["), UInt8(ascii: "{"): depth += 1
                case UInt8(ascii: "]"), UInt8(ascii: "}"):
                    // A bracket of the surroundings ends a number or a word.
                    if depth == 0 { return window.consume(index) }
                    depth -= 1
                    if depth == 0 { return window.consume(index + 1) }
                case UInt8(ascii: ",") where depth == 0: return window.consume(index)
                default: break
                }
            }
            window.consume(window.count)
        } while try window.fill()
        throw truncated
    }

    private var truncated: ManifestError {
        window.error(
            .malformed, at: window.count, "the file ends before its arrays and objects do")
    }
}

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
        cursor.mayBeLines = { !isDocument() }
        // The walk has the cursor.
        defer { cursor.mayBeLines = { false } }
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
