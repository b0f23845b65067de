/// A manifest that begins with `[` or `{`: a JSON document, or JSON Lines.
///
/// Read in one pass without looking ahead, so that a pipe works and a document of one long line
/// takes no memory. Which of the two it is shows when the first object ends: without an array
/// `apps`, and on the line that it began on, it was the first of JSON Lines.
struct JSONManifest {
    private let window: ByteWindow
    private let limits: ManifestLimits
    private let elements: JSONElementReader

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        self.limits = limits
        elements = JSONElementReader(window: window, limits: limits)
    }

    func read(_ emit: (RawEntry) throws -> Void) throws -> ManifestFormat {
        if try next() == UInt8(ascii: "[") {
            try readEntries(emit)
            try expectEnd()
            return .json
        }
        var object = JSONFirstObject(line: window.line, offset: window.offset)
        do {
            try readMembers(of: &object, emit)
        } catch let error as ManifestError where error.code == .malformed && !object.hasEntries {
            let failure = try firstLineFailure(error, object)
            try emit(RawEntry(line: object.line, content: .failure(failure)))
            try JSONLinesManifest(window, limits: limits).read(emit)
            return .jsonLines
        }
        if object.hasEntries {
            try expectEnd()
            return .json
        }
        let isAlone = try window.peekBehindBlanks() == nil
        guard object.lastLine == object.line, !isAlone || object.hasIcon else {
            throw ManifestError(
                .notAManifest, source: window.input.name, at: .line(object.line), object.complaint)
        }
        try emit(RawEntry(line: object.line, content: object.entry(limits)))
        try JSONLinesManifest(window, limits: limits).read(emit)
        return .jsonLines
    }

    /// Reads the array of entries from its opening bracket on.
    private func readEntries(_ emit: (RawEntry) throws -> Void) throws {
        window.consume(1)
        if try next() == UInt8(ascii: "]") { return window.consume(1) }
        while true {
            _ = try next()
            let line = window.line
            try emit(RawEntry(line: line, content: try elements.value()))
            switch try next() {
            case UInt8(ascii: ","): window.consume(1)
            case UInt8(ascii: "]"): return window.consume(1)
            default: throw unexpected("',' or ']'")
            }
        }
    }

    /// Reads an object from its opening brace on, and what follows on the line it ends on.
    private func readMembers(
        of object: inout JSONFirstObject, _ emit: (RawEntry) throws -> Void
    ) throws {
        window.consume(1)
        var isFirst = true
        while true {
            if isFirst, try next() == UInt8(ascii: "}") { break }
            isFirst = false
            let key = try elements.key()
            object.lastLine = window.line
            guard try next() == UInt8(ascii: ":") else { throw unexpected("':'") }
            window.consume(1)
            object.lastLine = window.line
            if try next() == UInt8(ascii: "["), case .success("apps") = key {
                guard !object.hasEntries else {
                    throw window.error(.malformed, "'apps' is there twice")
                }
                object.hasEntries = true
                try readEntries(emit)
            } else {
                object.take(key, try elements.value())
            }
            object.lastLine = window.line
            let byte = try next()
            if byte == UInt8(ascii: "}") { break }
            guard byte == UInt8(ascii: ",") else { throw unexpected("',' or '}'") }
            window.consume(1)
        }
        window.consume(1)
        object.lastLine = window.line
        object.length = window.offset - object.offset
        if try window.peekBehindBlanks() != nil, window.line == object.lastLine {
            throw unexpected("the end of the line")
        }
    }

    /// What is wrong with the first of JSON Lines, consumed to its end; throws `error` where the
    /// file is none. That it is shows by the next line, which begins with a brace where no JSON
    /// document has one.
    private func firstLineFailure(
        _ error: ManifestError, _ object: JSONFirstObject
    ) throws -> EntryError {
        guard case .line(let line, let column?) = error.place else { throw error }
        if line == object.line {
            try window.skipLine()
            guard try window.peekBehindBlanks() == UInt8(ascii: "{") else { throw error }
            return .unparsableLine(column: column, error.reason)
        }
        guard object.lastLine == object.line, error.place == window.place(),
            try window.peek() == UInt8(ascii: "{")
        else { throw error }
        return .unfinishedLine
    }

    private func expectEnd() throws {
        if try window.peekBehindBlanks() != nil { throw unexpected("the end of the file") }
    }

    /// The next byte behind white space, not consumed.
    private func next() throws -> UInt8 {
        guard let byte = try window.peekBehindBlanks() else {
            throw JSONElementReader.truncated(window)
        }
        return byte
    }

    private func unexpected(_ wanted: String) -> ManifestError {
        let found = JSONText.character(window.unread, at: 0)
        return window.error(.malformed, "unexpected \(found) where \(wanted) is due")
    }
}
