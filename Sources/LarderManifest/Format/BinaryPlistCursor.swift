final class BinaryPlistCursor: ManifestCursor {
    var position: Int?
    private(set) var progress = 0
    /// Elements are limited, because millions of them can be the same empty array.
    private var elementsSeen = 0
    private static let elementWeight = 1024
    private let plist: BinaryPlist
    private let limits: ManifestLimits
    private let limit: Int
    private let name: String
    private var reference: Int
    private var span = SourceSpan.unknown
    /// A cursor with separate limits that searches skipped values for icons.
    private var inspector: BinaryPlistCursor?

    convenience init(_ window: ByteWindow, limits: ManifestLimits) throws {
        let bytes = try BinaryPlistBytes(window, limits: limits)
        let name = window.input.name
        self.init(try BinaryPlist(bytes), limits: limits, name: name)
        inspector = BinaryPlistCursor(try BinaryPlist(bytes), limits: limits, name: name)
    }

    private init(_ plist: BinaryPlist, limits: ManifestLimits, name: String) {
        self.plist = plist
        self.limits = limits
        self.name = name
        // The minimum prevents an overflow for a sparse file.
        limit = 100 * min(plist.size, 1 << 40) + 16 << 20
        reference = plist.root
    }

    var line: Int? { nil }

    func kind() throws -> ValueKind {
        switch try plist.object(reference) {
        case .array: .array
        case .dictionary: .dictionary
        case .scalar, .string: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        try unfold { size in try value(reference, at: span, depth: 1, size: &size) }
    }

    @discardableResult func skip() throws -> EntryError? {
        try charge(8)
        return nil
    }

    func skip(inspectingWith body: (BinaryPlistCursor) throws -> Void) throws {
        if let inspector {
            inspector.reference = reference
            inspector.span = span
            do {
                try body(inspector)
            } catch {
                // The value is damaged or too large to search.
                self.inspector = nil
            }
        }
        try skip()
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        guard case .dictionary(let keys, let values) = try plist.object(reference) else { return }
        for index in 0..<keys.count {
            elementsSeen += 1
            try charge(8)
            let key = try unfold { size in
                try self.key(plist.reference(index, of: keys), size: &size)
            }
            reference = try plist.reference(index, of: values)
            span = plist.span(index, of: values)
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard case .array(let references) = try plist.object(reference) else { return }
        position = position ?? 1
        for index in 0..<references.count {
            reference = try plist.reference(index, of: references)
            span = plist.span(index, of: references)
            elementsSeen += 1
            try charge(0)
            try body()
        }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: name, reason)
    }

    private func unfold<Value>(
        _ read: (inout Int) throws -> Value
    ) throws -> Result<Value, EntryError> {
        var size = 0
        let result = try EntryError.result { try read(&size) }
        try charge(size)
        return result
    }

    private func charge(_ size: Int) throws {
        progress += size
        guard progress + elementsSeen * Self.elementWeight <= limit else {
            throw ManifestError(
                .tooLarge, source: name, at: position.map { .entry($0) },
                "shared objects expand to more than \(limit) bytes")
        }
    }

    private func value(
        _ reference: Int, at span: SourceSpan, depth: Int, size: inout Int
    ) throws -> ManifestValue {
        switch try plist.object(reference) {
        case .scalar(let value, _):
            try limits.charge(8, to: &size)
            return value
        case .string(let text, let isUTF16):
            let (text, isValid) = try string(text, isUTF16, size: &size)
            return isValid ? .string(text, at: span) : .invalidText
        case .array(let references):
            try enter(depth, references, &size)
            return .array(
                try (0..<references.count).map {
                    try value(
                        plist.reference($0, of: references), at: plist.span($0, of: references),
                        depth: depth + 1, size: &size)
                })
        case .dictionary(let keys, let values):
            try enter(depth, keys, &size)
            return .dictionary(
                try (0..<keys.count).map { index in
                    let key = try key(plist.reference(index, of: keys), size: &size)
                    let value = try value(
                        plist.reference(index, of: values), at: plist.span(index, of: values),
                        depth: depth + 1, size: &size)
                    return .init(key: key, value: value)
                })
        }
    }

    private func key(_ reference: Int, size: inout Int) throws -> String {
        guard case .string(let text, let isUTF16) = try plist.object(reference) else {
            throw BinaryPlist.ParseError(reason: "a dictionary has a key that is not a string")
        }
        return try string(text, isUTF16, size: &size).text
    }

    private func string(
        _ text: BinaryPlist.References, _ isUTF16: Bool, size: inout Int
    ) throws -> (text: String, isValid: Bool) {
        try limits.charge(text.count, to: &size)
        return try plist.string(text, isUTF16: isUTF16)
    }

    private func enter(
        _ depth: Int, _ references: BinaryPlist.References, _ size: inout Int
    ) throws {
        try limits.enter(depth)
        try limits.charge(8 * references.count, to: &size)
    }
}
