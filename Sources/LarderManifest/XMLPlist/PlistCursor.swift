/// An XML property list, value by value.
struct PlistCursor: ManifestCursor {
    let reader: PlistReader
    let limits: ManifestLimits

    var line: Int? { reader.line }

    var progress: Int { reader.offset }

    func kind() -> ValueKind {
        switch reader.element {
        case .dict: .dictionary
        case .array: .array
        default: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        let depth = reader.depth
        var size = 0
        do {
            return .success(try value(depth: 1, size: &size))
        } catch let error as EntryError {
            try skip(to: depth)
            return .failure(error)
        }
    }

    @discardableResult func skip() throws -> EntryError? {
        if !reader.isEmpty { try skip(to: reader.depth) }
        return nil
    }

    func skip(lookingOver body: (PlistCursor) throws -> Void) throws {
        guard !reader.isEmpty else { return }
        let depth = reader.depth
        do {
            try body(self)
        } catch is ManifestError {
            // Skipped values need not be a valid property list. This throws if the XML is broken.
            try skip(to: depth)
        }
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try forEachElement {
            var size = 0
            let key: String
            do {
                key = try self.key(size: &size)
            } catch let error as EntryError {
                throw reader.error(.tooLarge, "a key \(error.message)")
            }
            try body(.success(key))
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard !reader.isEmpty else { return }
        while try nextChild() { try body() }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        reader.error(code, reason)
    }

    /// Moves to the next element within the one that the reader stands in; false at its end.
    func nextChild() throws -> Bool {
        switch try reader.advance() {
        case .start: return true
        case .end: return false
        case .text: throw reader.error(.malformed, "expected an element, found text")
        case .finished: throw reader.error(.malformed, "the file ends early")
        }
    }

    private func skip(to depth: Int) throws {
        while true {
            let node = try reader.advance()
            if node == .finished || node == .end && reader.depth == depth { return }
        }
    }

    private func value(depth: Int, size: inout Int) throws -> ManifestValue {
        // The tags count too, so that an entry of a million empty elements is too large.
        try limits.charge(8, to: &size)
        switch reader.element {
        case .string:
            let text = try text(&size)
            return reader.isInvalid(text) ? .invalidText : .string(text)
        case .dict: return .dictionary(try members(depth: depth, size: &size))
        case .array: return .array(try elements(depth: depth, size: &size))
        case .integer: return integer(try text(&size))
        case .real: return real(try text(&size))
        case .true: return try empty(.bool(true), &size)
        case .false: return try empty(.bool(false), &size)
        case .data:
            _ = try text(&size)
            return .opaque("data")
        case .date:
            _ = try text(&size)
            return .opaque("a date")
        case .key: throw reader.error(.malformed, "<key> outside of a dictionary's pairs")
        case .plist, .unknown:
            throw reader.error(
                .malformed, "\(reader.shownElement) is not an element of property lists")
        }
    }

    private func members(depth: Int, size: inout Int) throws -> [ManifestValue.Member] {
        try limits.enter(depth)
        var members: [ManifestValue.Member] = []
        try forEachElement {
            let key = try key(size: &size)
            members.append(.init(key: key, value: try value(depth: depth + 1, size: &size)))
        }
        return members
    }

    private func elements(depth: Int, size: inout Int) throws -> [ManifestValue] {
        try limits.enter(depth)
        var elements: [ManifestValue] = []
        try forEachElement { elements.append(try value(depth: depth + 1, size: &size)) }
        return elements
    }

    private func key(size: inout Int) throws -> String {
        guard reader.element == .key else {
            throw reader.error(.malformed, "expected a <key>, found \(reader.shownElement)")
        }
        let key = try text(&size)
        guard try nextChild() else {
            throw reader.error(.malformed, "the key \(key.quoted()) has no value")
        }
        return key
    }

    /// Reads the text of the element that the reader stands on, to the element's end.
    private func text(_ size: inout Int) throws -> String {
        guard !reader.isEmpty else { return "" }
        var text = ""
        while case let node = try reader.advance(keepingBlanks: true), node != .end {
            guard node == .text else {
                throw reader.error(.malformed, "expected text, found \(reader.shownElement)")
            }
            let part = reader.text
            try limits.charge(part.utf8.count, to: &size)
            if text.isEmpty { text = part } else { text += part }
        }
        return text
    }

    private func empty(_ value: ManifestValue, _ size: inout Int) throws -> ManifestValue {
        try text(&size).allSatisfy(\.isWhitespace) ? value : .opaque("a malformed boolean")
    }

    /// Decimal or, as Core Foundation has it, hexadecimal digits with a sign.
    private func integer(_ text: String) -> ManifestValue {
        let digits = text.filter { !$0.isWhitespace }
        if let integer = Int(digits) { return .integer(integer) }
        if digits.utf8.prefix(2).isWord("0x"), let integer = Int(digits.dropFirst(2), radix: 16) {
            return .integer(integer)
        }
        return UInt64(digits).map { .double(Double($0)) } ?? .opaque("a malformed integer")
    }

    private func real(_ text: String) -> ManifestValue {
        let number = Double(text.filter { !$0.isWhitespace })
        return number.map { .double($0) } ?? .opaque("a malformed number")
    }
}

/// A manifest in an XML property list.
struct XMLPlistManifest {
    let window: ByteWindow
    let limits: ManifestLimits
    let recognition: ShapeRecognition

    func read(_ emit: @escaping (RawEntry) throws -> Void) throws {
        let reader = try PlistReader(window, limits: limits)
        let cursor = PlistCursor(reader: reader, limits: limits)
        // Any other document was refused by the filter.
        guard try cursor.nextChild(), !reader.isEmpty, try cursor.nextChild() else {
            throw reader.error(.notAManifest, "the property list is empty")
        }
        guard reader.element == .array || reader.element == .dict else {
            throw reader.error(
                .notAManifest,
                "the property list is a \(reader.shownElement), neither array nor dictionary")
        }
        let line = reader.line
        let walk = EntryWalk(cursor, recognition, limits: limits, emit)
        try walk.walk()
        guard try !cursor.nextChild() else {
            throw reader.error(.malformed, "more than one value in the property list")
        }
        // What must not follow the list shows at the end of the document only.
        while try reader.advance() != .finished {}
        guard try walk.finish() else {
            throw ManifestError(
                .notAManifest, source: reader.source, at: .line(line), walk.refusal)
        }
    }
}
