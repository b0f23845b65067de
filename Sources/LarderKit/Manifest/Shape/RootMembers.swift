import LarderCache

/// The members of a manifest's outermost dictionary that mean something in an entry: it may be one
/// itself, as a web app manifest is, or the first of JSON Lines. Each is kept once, and all are no
/// larger than an entry may be.
struct RootMembers {
    /// The names of those that are kept.
    private let keys: Set<[UInt8]>
    /// The line that the dictionary begins on.
    var line: Int?
    private let marks: [ManifestPath]
    private let limits: ManifestLimits
    private var members: [ManifestValue.Member] = []
    private var size = 0
    private var failure: EntryError?

    init(_ recognition: ShapeRecognition, limits: ManifestLimits) {
        self.limits = limits
        let lines = recognition.lineShapes.map { recognition.shapes[$0] }
        marks = lines.flatMap(\.marks)
        let roots = recognition.shapes.filter { $0.entries.contains { $0.segments.isEmpty } }
        keys = (lines + roots).reduce(into: Set(EntryDecoder.keys.map { Array($0.utf8) })) {
            keys, shape in
            let paths =
                shape.icons.map(\.path) + shape.names + shape.marks
                + [shape.priority, shape.integrity, shape.key].compactMap(\.self)
            for case .member(let key)? in paths.map(\.segments.first) {
                keys.insert(Array(key.utf8))
            }
        }
    }

    var isEmpty: Bool { members.isEmpty }

    /// Whether a member of that name is one of them.
    func isKept(_ key: String) -> Bool { keys.contains(Array(key.utf8)) }

    /// The members as an element.
    var value: ManifestValue { .dictionary(members) }

    /// Whether they make an entry of a list.
    var hasIcon: Bool {
        let value = value
        // As in a list, null is an icon that is missing.
        return marks.contains { !$0.matches(in: value, limit: 1).isEmpty }
    }

    /// Hands over the arrays and dictionaries.
    func forEachContainer(_ body: (ManifestValue.Member, ValueKind) -> Void) {
        for member in members {
            switch member.value {
            case .array: body(member, .array)
            case .dictionary: body(member, .dictionary)
            case .null, .bool, .integer, .double, .string, .opaque: continue
            }
        }
    }

    mutating func take(_ key: String, _ value: Result<ManifestValue, EntryError>, size: Int) {
        self.size += size
        members.removeAll { $0.key.isSame(as: key) }
        switch value {
        case .failure(let error): failure = error
        case .success where self.size > limits.maximumEntrySize: failure = .tooLarge(limits)
        case .success(let value): members.append(.init(key: key, value: value))
        }
    }

    /// The members as an entry.
    var entry: Result<ManifestValue, EntryError> { failure.map { .failure($0) } ?? .success(value) }
}
