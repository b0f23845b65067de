/// A path of a shape, with the ``rest`` that is still to be followed. Nested in the generic
/// ``EntryWalk``, this type would need a metadata lookup for each XML element.
struct Trail {
    /// The shape that has the path, or nil with `--entries`, which gives all shapes the same paths.
    let shape: Int?
    let path: ManifestPath
    let isBase: Bool
    fileprivate(set) var rest: ArraySlice<ManifestPath.Segment>
    private(set) var filter: ManifestPath.Segment?

    init(shape: Int?, path: ManifestPath, isBase: Bool = false) {
        (self.shape, self.path, self.isBase) = (shape, path, isBase)
        rest = path.segments[...]
    }

    var isEnd: Bool { rest.isEmpty && !isBase }
    var entersDictionary: Bool { !rest.isEmpty && rest.first != .elements }

    /// Removes the first segment of ``rest``. Returns whether it selects `segment`.
    fileprivate mutating func pass(_ segment: ManifestPath.Segment) -> Bool {
        guard let first = rest.popFirst() else { return false }
        if case .elementsWhere = first, segment == .elements, rest.isEmpty {
            filter = first
            return true
        }
        guard first == segment else { return false }
        if path.isXML, rest.count == 1, case .elementsWhere? = rest.first {
            filter = rest.popFirst()
        }
        return true
    }
}

extension [Trail] {
    func following(_ segment: ManifestPath.Segment) -> [Trail] {
        var found: [Trail] = []
        for var trail in self {
            if trail.rest.first == .descendants {
                // Callers follow a member by name and as `.members`. Only the name keeps the trail.
                if segment != .members { found.append(trail) }
                trail.rest.removeFirst()
            }
            if trail.pass(segment) { found.append(trail) }
        }
        return found
    }
}

/// The entries in a value that was read whole, in document order. An entry excludes the entries
/// nested in it, so that each icon belongs to one entry.
struct NestedEntries {
    typealias Content = Result<ManifestValue, EntryError>

    private(set) var entries: [(entry: RawEntry, paths: [ManifestPath])] = []
    private let recognition: ShapeRecognition

    init(_ recognition: ShapeRecognition) { self.recognition = recognition }

    /// Adds the entries of a value. Returns the rest of it, or nil if the value itself is an entry.
    mutating func take(
        _ content: Content, _ key: String?, _ line: Int?, _ trails: [Trail]
    ) -> Content? {
        var ends = trails.filter(\.isEnd)
        let inner = trails.filter { !$0.isEnd }
        // A path to an array selects its elements.
        if case .success(let value) = content {
            ends.removeAll {
                guard case .elementsWhere(let key, let wanted)? = $0.filter else { return false }
                return !value.has(key, wanted)
            }
            if case .array = value, inner.following(.elements).contains(where: \.isEnd) {
                ends = []
            }
        }
        let candidates = recognition.candidates(at: ends)
        // The whole value determines the shape, because nested entries can identify it.
        var shape = recognition.shape(of: content, among: candidates)
        let index = entries.count
        let rest = content.map { takeInside($0, inner) }
        // If entries inside an element have another shape, the element is not an entry.
        let mayBeLenient = recognition.settled.map(candidates.contains) ?? !candidates.isEmpty
        if shape == nil, mayBeLenient, recognition.isLenient(candidates) {
            shape = recognition.lenientShape(of: content, among: candidates)
        }
        guard let shape else { return rest }
        let paths = ends.filter { $0.shape ?? shape == shape }.map(\.path)
        guard !paths.isEmpty else { return rest }
        entries.insert(
            (RawEntry(line: line, key: key, content: rest, shape: shape), paths), at: index)
        return nil
    }

    private mutating func takeInside(_ value: ManifestValue, _ trails: [Trail]) -> ManifestValue {
        switch value {
        case .array(let elements):
            let inside = trails.following(.elements)
            guard !inside.isEmpty else { return value }
            return .array(elements.compactMap { rest(of: $0, nil, inside) })
        case .dictionary(let members):
            let whole = trails.following(.members)
            return .dictionary(
                members.compactMap { member in
                    let inside = whole + trails.following(.member(member.key))
                    guard !inside.isEmpty else { return member }
                    return rest(of: member.value, whole.isEmpty ? nil : member.key, inside)
                        .map { .init(key: member.key, value: $0) }
                })
        default: return value
        }
    }

    private mutating func rest(
        of value: ManifestValue, _ key: String?, _ trails: [Trail]
    ) -> ManifestValue? {
        if case .null = value { return value }
        return take(.success(value), key, nil, trails).flatMap { try? $0.get() }
    }
}
