final class BinaryPlistCursor: ManifestCursor {
    let plist: BinaryPlist
    private(set) var progress = 0
    /// Limited, because millions of elements can be the same empty array.
    private var elementsSeen = 0
    private static let elementWeight = 1024
    private let limits: ManifestLimits
    private let limit: Int
    private var place: BinaryPlist.Element
    /// A cursor with separate limits that searches skipped values for icons.
    private var inspector: BinaryPlistCursor?

    convenience init(_ window: ByteWindow, limits: ManifestLimits) throws {
        let bytes = try BinaryPlistBytes(window, limits: limits)
        self.init(try BinaryPlist(bytes), limits: limits)
        inspector = BinaryPlistCursor(try BinaryPlist(bytes), limits: limits)
    }

    private init(_ plist: BinaryPlist, limits: ManifestLimits) {
        self.plist = plist
        self.limits = limits
        // The cap of 1 TiB prevents an overflow for a sparse file.
        limit = 100 * min(plist.bytes.count, 1 << 40) + 16 << 20
        place = (plist.root, .unknown)
    }

    var line: Int? { nil }

    func kind() throws -> ValueKind {
        switch try plist.object(place.reference) {
        case .array: .array
        case .dictionary: .dictionary
        case .scalar, .string: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        try unfold { try value(place, depth: 1, size: &$0) }
    }

    @discardableResult func skip() throws -> EntryError? {
        try charge(8)
        return nil
    }

    func skip(inspectingWith body: (BinaryPlistCursor) throws -> Void) throws {
        if let inspector {
            inspector.place = place
            // An error means that the value is damaged or too large to search.
            if (try? body(inspector)) == nil { self.inspector = nil }
        }
        try skip()
    }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        guard case .dictionary(let keys, let values) = try plist.object(place.reference)
        else { return }
        for index in 0..<keys.count {
            try charge(8, elements: 1)
            let key = try unfold { try self.key(plist.element(index, of: keys), size: &$0) }
            place = try plist.element(index, of: values)
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard case .array(let references) = try plist.object(place.reference) else { return }
        plist.position = plist.position ?? 1
        for index in 0..<references.count {
            place = try plist.element(index, of: references)
            try charge(0, elements: 1)
            try body()
        }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: plist.bytes.input.name, reason)
    }

    private func unfold<Value>(
        _ read: (inout Int) throws -> Value
    ) throws -> Result<Value, EntryError> {
        var size = 0
        let result = try EntryError.result { try read(&size) }
        try charge(size)
        return result
    }

    private func charge(_ size: Int, elements: Int = 0) throws {
        progress += size
        elementsSeen += elements
        guard progress + elementsSeen * Self.elementWeight <= limit
        else { throw plist.error("shared objects expand to more than \(limit) bytes", .tooLarge) }
    }

    private func value(
        _ element: BinaryPlist.Element, depth: Int, size: inout Int
    ) throws -> ManifestValue {
        switch try plist.object(element.reference) {
        case .scalar(let value, _):
            try limits.charge(8, to: &size)
            return value
        case .string(let text, let isUTF16):
            let (text, isValid) = try string(text, isUTF16, size: &size)
            return isValid ? .string(text, at: element.span) : .invalidText
        case .array(let references):
            try limits.enter(depth)
            try limits.charge(8 * references.count, to: &size)
            return .array(
                try (0..<references.count).map {
                    try value(plist.element($0, of: references), depth: depth + 1, size: &size)
                })
        case .dictionary(let keys, let values):
            try limits.enter(depth)
            try limits.charge(8 * keys.count, to: &size)
            return .dictionary(
                try (0..<keys.count).map { index in
                    let key = try key(plist.element(index, of: keys), size: &size)
                    let element = try plist.element(index, of: values)
                    return .init(key: key, value: try value(element, depth: depth + 1, size: &size))
                })
        }
    }

    private func key(_ element: BinaryPlist.Element, size: inout Int) throws -> String {
        guard case .string(let text, let isUTF16) = try plist.object(element.reference)
        else { throw plist.error("a dictionary has a key that is not a string") }
        return try string(text, isUTF16, size: &size).text
    }

    private func string(
        _ text: BinaryPlist.References, _ isUTF16: Bool, size: inout Int
    ) throws -> (text: String, isValid: Bool) {
        try limits.charge(text.count, to: &size)
        return try plist.string(text, isUTF16: isUTF16)
    }
}
