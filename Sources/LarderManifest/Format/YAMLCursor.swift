import LarderCore

/// A cursor over the values of all documents in a YAML stream. In an entry, a merge key (`<<`, YAML
/// 1.1) adds the members of the named mappings, which keep their places in the file. The entry's
/// own members take precedence over merged members, and earlier mappings over later ones.
/// Outside entries, `<<` is an ordinary member. Members whose key is not a scalar are skipped.
final class YAMLCursor: ManifestCursor {
    private static let maximumKeySize = 8 << 10

    private let parser: YAMLParser
    private let events: YAMLEvents
    private let limits: ManifestLimits
    private var isInspecting = false

    init(_ window: ByteWindow, limits: ManifestLimits) throws(ManifestError) {
        self.limits = limits
        parser = try YAMLParser(window, limits: limits)
        events = YAMLEvents(parser)
    }

    /// Moves to the root of the next non-empty document. Returns false at the end.
    func beginDocument() throws -> Bool {
        while events.kind != .streamEnd {
            try events.advance()
            guard events.kind == .documentStart else { continue }
            try events.advance()
            guard events.kind == .scalar else { return true }
            if !events.event.isPlain || !events.event.text.isEmpty { return true }
        }
        return false
    }

    var line: Int? { events.event.line }
    var progress: Int { events.progress }

    func kind() -> ValueKind { events.valueKind }

    func take() throws -> Result<ManifestValue, EntryError> {
        let mark = events.mark
        var size = 0
        parser.isInEntry = !isInspecting
        defer { parser.isInEntry = false }
        let result = try EntryError.result { try value(depth: 1, size: &size) }
        if case .failure = result { try events.skip(from: mark) }
        return result
    }

    @discardableResult func skip() throws -> EntryError? {
        try events.skip(from: events.mark)
        return nil
    }

    func skip(inspectingWith body: (YAMLCursor) throws -> Void) throws {
        isInspecting = true
        defer { isInspecting = false }
        try body(self)
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        try forEachPair {
            var size = 0
            let key = try EntryError.result { try self.key(size: &size).text }
            if case .failure = key { try skip() }
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        if events.kind == .alias { try events.enterAlias() }
        try events.advance()
        while events.kind != .end { try body() }
        try events.advance()
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        parser.error(code, reason)
    }

    /// Throws an error for a scalar document, unless `--entries` may select it. Refuses templates.
    func checkScalar(isExplicit: Bool) throws {
        if try events.scalar().text.utf8.first == UInt8(ascii: "<") {
            throw parser.error(.notAManifest, YAMLParser.template)
        }
        if !isExplicit { throw parser.refusal }
    }

    private func forEachPair(_ body: () throws -> Void) throws {
        try forEachElement {
            if kind() == .scalar { return try body() }
            try skip()
            try skip()
        }
    }

    private func value(depth: Int, size: inout Int) throws -> ManifestValue {
        try limits.charge(8, to: &size)
        switch events.valueKind {
        case .array:
            try limits.enter(depth)
            var elements: [ManifestValue] = []
            try forEachElement { elements.append(try value(depth: depth + 1, size: &size)) }
            return .array(elements)
        case .dictionary:
            try limits.enter(depth)
            return .dictionary(try members(depth: depth, size: &size))
        case .scalar: return try scalar(size: &size)
        }
    }

    private func members(depth: Int, size: inout Int) throws -> [ManifestValue.Member] {
        var members: [ManifestValue.Member] = []
        var merged: [ManifestValue.Member] = []
        try forEachPair {
            let key = try key(size: &size)
            let value = try value(depth: depth + 1, size: &size)
            if key.isMerge, let inherited = Self.merged(value) {
                merged = inherited + merged
            } else {
                if members.isEmpty { members.reserveCapacity(8) }
                members.append(.init(key: key.text, value: value))
            }
        }
        return merged.isEmpty ? members : merged + members
    }

    /// Returns the members of the mappings in reverse, because the first mapping must win (`<<`),
    /// but of members with the same key, the last one is used.
    private static func merged(_ value: ManifestValue) -> [ManifestValue.Member]? {
        switch value {
        case .dictionary(let members): return members
        case .array(let elements):
            var all: [ManifestValue.Member] = []
            for element in elements.reversed() {
                guard case .dictionary(let members) = element else { return nil }
                all += members
            }
            return all
        default: return nil
        }
    }

    private func key(size: inout Int) throws -> (text: String, isMerge: Bool) {
        let key = try events.scalar()
        let isMerge = key.isPlain && key.text.utf8.count == 2 && key.text.isSame(as: "<<")
        guard key.text.utf8.count <= Self.maximumKeySize
        else { throw EntryError(.tooLarge, "a key has more than \(Self.maximumKeySize) bytes") }
        try limits.charge(key.text.utf8.count, to: &size)
        try events.advance()
        return (key.text, isMerge)
    }

    private func scalar(size: inout Int) throws -> ManifestValue {
        let scalar = try events.scalar()
        try limits.charge(scalar.text.utf8.count, to: &size)
        let value =
            (scalar.isPlain ? Self.typed(scalar.text) : nil)
            ?? .string(scalar.text, at: events.event.span)
        try events.advance()
        return value
    }

    private static let words: [(String, ManifestValue)] =
        ["", "~", "null", "Null", "NULL"].map { ($0, .null) }
        + ["true", "True", "TRUE"].map { ($0, .bool(true)) }
        + ["false", "False", "FALSE"].map { ($0, .bool(false)) }

    /// Returns a plain scalar's value in the core schema of YAML 1.2, or nil for a string. `yes`,
    /// `.inf`, `.nan` and hexadecimal numbers are strings.
    private static func typed(_ text: String) -> ManifestValue? {
        let bytes = text.utf8
        if bytes.count <= 5, let word = words.first(where: { text.isSame(as: $0.0) }) {
            return word.1
        }
        // `Int` and `Double` also accept other spellings, such as `-inf`.
        guard bytes.count <= 64, bytes.contains(where: \.isDigit),
            bytes.allSatisfy({ $0.isDigit || "+-.eE".utf8.contains($0) }),
            bytes.count(where: { $0 == UInt8(ascii: ".") }) < 2
        else { return nil }
        return Int(text).map { .integer($0) } ?? Double(text).map { .double($0) }
    }
}
