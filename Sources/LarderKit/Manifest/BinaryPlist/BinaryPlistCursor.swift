/// A binary property list, value by value, and no more of them than it may unfold to.
final class BinaryPlistCursor: ManifestCursor {
    /// The entry that comes next, for errors; nil before the first array.
    var position: Int?
    /// How many bytes were unfolded.
    private(set) var progress = 0
    /// Arrays that share an array of empty ones unfold to no bytes at all, and to millions of
    /// elements; a dictionary may have one key any number of times.
    private var elementsSeen = 0
    private static let elementWeight = 1024
    private let elements: BinaryPlistElementReader
    private let limit: Int
    private let name: String
    /// The object that comes next.
    private var reference: Int

    init(_ elements: BinaryPlistElementReader, limit: Int, name: String) {
        self.elements = elements
        self.limit = limit
        self.name = name
        reference = elements.plist.root
    }

    var line: Int? { nil }

    func kind() throws -> ValueKind {
        switch try elements.plist.object(reference) {
        case .array: .array
        case .dictionary: .dictionary
        case .scalar, .string: .scalar
        }
    }

    func take() throws -> Result<ManifestValue, EntryError> {
        let (value, size) = try elements.value(reference)
        try charge(size)
        return value
    }

    func skip() throws { try charge(8) }

    func forEachMember(_ body: (Result<String, EntryError>) throws -> Void) throws {
        guard case .dictionary(let keys, let values) = try elements.plist.object(reference) else {
            return
        }
        for index in 0..<keys.count {
            let (key, size) = try elements.key(elements.plist.reference(index, of: keys))
            reference = try elements.plist.reference(index, of: values)
            elementsSeen += 1
            try charge(8 + size)
            try body(key)
        }
    }

    func forEachElement(_ body: () throws -> Void) throws {
        guard case .array(let references) = try elements.plist.object(reference) else { return }
        position = position ?? 1
        for index in 0..<references.count {
            reference = try elements.plist.reference(index, of: references)
            elementsSeen += 1
            try charge(0)
            try body()
        }
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: name, reason)
    }

    private func charge(_ size: Int) throws {
        progress += size
        guard progress + elementsSeen * Self.elementWeight <= limit else {
            throw ManifestError(
                .tooLarge, source: name, at: position.map { .entry($0) },
                "shared objects unfold to more than \(limit) bytes")
        }
    }
}
