/// A search for entries in one pass. Keeps only the root's members and, until their shape is
/// decided, the first entries. Both are limited in size.
final class EntryWalk<Cursor: ManifestCursor> {
    /// The maximum number of places checked for repeated keys. Only paths with `..` match more.
    private static var maximumPlaces: Int { 64 }

    private(set) var hasEntries = false
    /// Whether the root has members that entries do not have.
    private(set) var hasStrangeMembers = false
    private(set) var failure: EntryError?
    private(set) var root: RootMembers
    private let cursor: Cursor
    private let recognition: ShapeRecognition
    private let limits: ManifestLimits
    private let emit: (RawEntry) throws -> Void
    private lazy var trails = allTrails
    private var places: [[ManifestPath.Segment]] = []
    private var heldMembers = HeldEntries()
    private var mayBeMap = true
    /// Whether the root has unknown scalars, as a configuration does.
    private var hasScalars = false
    private var kindOfApps: ValueKind?
    private var hasEmptyPlace = false

    init(
        _ cursor: Cursor, _ recognition: ShapeRecognition, limits: ManifestLimits,
        _ emit: @escaping (RawEntry) throws -> Void
    ) {
        self.cursor = cursor
        self.recognition = recognition
        self.limits = limits
        self.emit = emit
        root = RootMembers(recognition, limits: limits)
    }

    private var allTrails: [Trail] {
        if recognition.isExplicit {
            return recognition.shapes[0].entries.map { Trail(shape: nil, path: $0) }
        }
        return recognition.shapes.enumerated().flatMap { (index, shape) -> [Trail] in
            shape.entries.map { Trail(shape: index, path: $0) }
                + (shape.base.map { [Trail(shape: index, path: $0, isBase: true)] } ?? [])
        }
    }

    func restart() {
        dropHeld()
        root.clear()
        (hasEntries, hasStrangeMembers, hasEmptyPlace) = (false, false, false)
        (failure, kindOfApps, hasScalars) = (nil, nil, false)
        (places, mayBeMap) = ([], true)
    }

    func walk() throws {
        if try cursor.kind() == .dictionary, !recognition.isExplicit, !recognition.isXML {
            root.line = cursor.line
            try walkRoot(trails)
        } else {
            try walk(trails, at: [])
        }
    }

    /// Handles a root that is an entry or a map. Returns whether there is a place for entries.
    func finish() throws -> Bool {
        if let shape = recognition.rootShape(root, hasEntries: hasEntries) {
            hasEntries = true
            recognition.use(ManifestPath(segments: []))
            try emit(RawEntry(line: root.line, content: root.entry, shape: shape))
        } else if mayBeMap, !hasEntries, !root.hasIcon, !hasScalars,
            heldMembers.entries.contains(where: { recognition.isMapEntry($0) })
        {
            try openMap()
        } else if hasEntries {
            for member in root.members {
                let place = [ManifestPath.Segment.member(member.key)]
                if case .array = member.value { recognition.unread.look(at: member.value, place) }
                guard case .dictionary = member.value else { continue }
                recognition.unread.count(place, .dictionary) {
                    recognition.unread.look(at: member.value, place)
                }
            }
        }
        dropHeld()
        return hasEntries && !recognition.isStrange || hasEmptyPlace
    }

    func emitRoot(_ line: Int?, _ failure: EntryError? = nil) throws {
        dropHeld()
        let content = failure.map { .failure($0) } ?? root.entry
        // A placeholder for unknown members, which are not kept.
        let isStrange = root.isEmpty && hasStrangeMembers
        let shown = isStrange ? .success(.dictionary([.init(key: "", value: .null)])) : content
        let shape = recognition.lenientShape(of: shown, among: recognition.lineShapes)
        try emit(RawEntry(line: line, content: content, shape: shape))
    }

    var refusal: String {
        guard let kindOfApps, kindOfApps != .array else { return recognition.refusal }
        let kind = kindOfApps == .scalar ? "a single value" : "a dictionary"
        return "'apps' is \(kind), not an array; \(ManifestSuggestion.advice)"
    }

    private func walkRoot(_ trails: [Trail]) throws {
        try cursor.forEachMember { key in
            guard case .success(let key) = key else {
                if case .failure(let error) = key { failure = error }
                return try skip([])
            }
            let inside = trails.following(.member(key))
            if !inside.isEmpty {
                if key.isSame(as: "apps") { kindOfApps = try cursor.kind() }
                return try walk(inside, at: [.member(key)])
            }
            let before = cursor.progress
            if root.isKept(key) {
                return root.take(key, try cursor.take(), size: cursor.progress - before)
            }
            let isFirst =
                !hasStrangeMembers && !hasEntries && heldMembers.entries.isEmpty && root.isEmpty
            hasStrangeMembers = true
            let kind = try cursor.kind()
            if kind == .scalar {
                hasScalars = true
                let isPlist = cursor is PlistCursor || cursor is BinaryPlistCursor
                if isPlist, isFirst || recognition.isHashes { return try takeHash(key, isFirst) }
            }
            guard mayBeMap, kind == .dictionary else { return try skip([.member(key)]) }
            let line = cursor.line
            let member = RawEntry(line: line, key: key, content: try cursor.take(), shape: 0)
            try takeMapMember(member, size: cursor.progress - before)
        }
    }

    private func takeHash(_ key: String, _ isFirst: Bool) throws {
        let line = cursor.line
        switch try cursor.take() {
        case .failure(let error): failure = error
        case .success(let value):
            guard let shape = recognition.hashes(key, value, isFirst: isFirst) else { return }
            (hasEntries, mayBeMap) = (true, false)
            let members: [ManifestValue.Member] = [
                .init(key: "icon", value: .string(key)), .init(key: "sha256", value: value),
            ]
            try emit(
                RawEntry(line: line, content: .success(.dictionary(members)), shape: shape))
        }
    }

    private func walk(_ trails: [Trail], at place: [ManifestPath.Segment]) throws {
        guard place.count <= limits.maximumDepth else {
            throw cursor.error(
                .tooDeep, "the values to search nest deeper than \(limits.maximumDepth) levels")
        }
        switch try cursor.kind() {
        case .array:
            let inside = trails.following(.elements)
            if inside.contains(where: \.isEnd) {
                try readPlace(inside, at: place + [.elements]) { take in
                    try cursor.forEachElement { try take(nil, []) }
                }
            } else if inside.isEmpty {
                try skip(place)
            } else {
                try cursor.forEachElement { try walk(inside, at: place + [.elements]) }
            }
        case .dictionary
        where trails.contains(where: \.entersDictionary) && !trails.contains(where: \.isEnd):
            let members = trails.following(.members)
            if members.contains(where: \.isEnd) {
                return try readPlace(members, at: place + [.members]) { take in
                    try cursor.forEachMember { key in
                        let key = try? key.get()
                        try take(key, key.map { trails.following(.member($0)) } ?? [])
                    }
                }
            }
            // An empty dictionary can be a place for entries, such as `entries` in a Helm index.
            var isEmpty = !members.isEmpty
            try cursor.forEachMember { key in
                isEmpty = false
                let key = (try? key.get()) ?? ""
                let inside = members + trails.following(.member(key))
                guard !inside.isEmpty else {
                    // Members next to a base URL describe the list itself.
                    if trails.allSatisfy({ $0.isBase }) { return _ = try cursor.skip() }
                    return try skip(place + [.member(key)])
                }
                try walk(inside, at: place + [.member(key)])
            }
            if isEmpty { hasEmptyPlace = true }
        default:
            if trails.contains(where: { $0.isBase && $0.rest.isEmpty }) {
                if case .success(.string(let base, _)) = try cursor.take() {
                    recognition.base = base
                }
            } else if trails.contains(where: \.isEnd) {
                try readPlace(trails, at: place) { take in try take(nil, []) }
            } else {
                try skip(place)
            }
        }
    }

    /// Skips a value. Counts its icons, unless it is a scalar outside a list, such as a title.
    private func skip(_ place: [ManifestPath.Segment]) throws {
        let kind = try cursor.kind()
        guard !recognition.isExplicit, kind != .scalar || place.contains(.elements) else {
            if let error = try cursor.skip() { failure = error }
            return
        }
        try recognition.unread.count(place, kind) {
            try cursor.skip { try look(at: $0, place, depth: 2) }
        }
    }

    /// Counts the icons in a value. Values below `depth` levels are read whole.
    private func look(at cursor: Cursor, _ place: [ManifestPath.Segment], depth: Int) throws {
        switch (try cursor.kind(), depth) {
        case (.array, 1...):
            try cursor.forEachElement {
                try look(at: cursor, place + [.elements], depth: depth - 1)
            }
        case (.dictionary, 1...):
            try cursor.forEachMember { key in
                let name = (try? key.get()) ?? ""
                try look(at: cursor, place + [.member(name)], depth: depth - 1)
            }
        default:
            switch try cursor.take() {
            case .success(let value): recognition.unread.look(at: value, place)
            case .failure(let error): failure = error
            }
        }
    }

    /// Reads the entries at a place, or skips it if none of the first elements matches a shape.
    /// `forEach` calls `take` for each element, with its key and further trails into it.
    private func readPlace(
        _ trails: [Trail], at place: [ManifestPath.Segment],
        _ forEach: (_ take: (String?, [Trail]) throws -> Void) throws -> Void
    ) throws {
        let inner = trails.filter { !$0.isEnd && !$0.isBase }
        let candidates = recognition.candidates(at: trails)
        guard !candidates.isEmpty || !inner.isEmpty else {
            let isWhole = place.last == .elements || place.last == .members
            return try skip(isWhole ? Array(place.dropLast()) : place)
        }
        let hasFilter = trails.contains { $0.filter != nil }
        let isLenient = recognition.isLenient(candidates)
        var isOpen = false
        if !candidates.isEmpty, isLenient || recognition.settled != nil { try open(place, &isOpen) }
        var isEmpty = true
        var matchesNoShape = false
        var held = HeldEntries()
        func emitHeld(_ shape: Int) throws {
            try open(place, &isOpen)
            for entry in held.removeAll() { try emit(entry.of(shape)) }
        }
        func refuseHeld() {
            for case .success(let value) in held.removeAll().map(\.content) {
                recognition.unread.look(at: value, place)
            }
        }
        try forEach { key, others in
            isEmpty = false
            if matchesNoShape { return try skip(place) }
            let further = (inner + others).filter {
                !$0.isBase && ($0.shape == nil || $0.shape == recognition.settled ?? $0.shape)
            }
            guard further.isEmpty, !hasFilter else {
                return try readNested(trails.filter(\.isEnd) + further, at: place, key, &isOpen)
            }
            guard recognition.settled.map(candidates.contains) ?? true
            else { return try skip(place) }
            let (line, before) = (cursor.line, cursor.progress)
            let content = try cursor.take()
            let shape =
                isLenient
                ? recognition.lenientShape(of: content, among: candidates)
                : recognition.shape(of: content, among: candidates)
            let entry = RawEntry(line: line, key: key, content: content, shape: shape ?? 0)
            if let shape {
                try emitHeld(shape)
                try emit(entry)
            } else if !held.add(entry, size: cursor.progress - before, limits) {
                matchesNoShape = true
                refuseHeld()
            }
        }
        if let shape = recognition.settleEmptyGroups(held.entries, among: candidates) {
            try emitHeld(shape)
        }
        refuseHeld()
        if isEmpty { hasEmptyPlace = true }
        guard isOpen, !isEmpty, !hasFilter else { return }
        for trail in trails where trail.isEnd { recognition.use(trail.path, of: trail.shape) }
    }

    private func readNested(
        _ trails: [Trail], at place: [ManifestPath.Segment], _ key: String?, _ isOpen: inout Bool
    ) throws {
        guard !recognition.candidates(at: trails).isEmpty
        else { return try walk(trails.filter { !$0.isEnd }, at: place) }
        let line = cursor.line
        var found = NestedEntries(recognition)
        let rest = found.take(try cursor.take(), key, line, trails)
        if case .success(let rest)? = rest, !recognition.isExplicit {
            recognition.unread.look(at: rest, place)
        }
        guard !found.entries.isEmpty else { return }
        try open(place, &isOpen)
        for (entry, paths) in found.entries {
            let shape = recognition.isExplicit ? nil : entry.shape
            for path in paths { recognition.use(path, of: shape) }
            try emit(entry)
        }
    }

    private func open(_ place: [ManifestPath.Segment], _ isOpen: inout Bool) throws {
        guard !isOpen else { return }
        (isOpen, hasEntries, mayBeMap) = (true, true, false)
        dropHeld()
        // An XML element, or a place after a wildcard, may occur several times.
        guard !recognition.isXML, places.count < Self.maximumPlaces,
            !place.dropLast().contains(where: { $0 == .elements || $0 == .members })
        else { return }
        guard !places.contains(place) else {
            let name = ManifestPath(segments: place.dropLast())
            throw cursor.error(.malformed, "'\(name)' occurs twice")
        }
        places.append(place)
    }

    /// Two members with icons indicate a map. A single one may describe the manifest itself. If the
    /// root has scalars, as a configuration does, one of the members must also have a name.
    private func takeMapMember(_ member: RawEntry, size: Int) throws {
        if recognition.isMap { return try emit(member.of(recognition.settled ?? 0)) }
        guard heldMembers.add(member, size: size, limits) else {
            mayBeMap = false
            return dropHeld()
        }
        guard recognition.isMapEntry(member), !root.hasIcon else { return }
        let entries = heldMembers.entries.filter { recognition.isMapEntry($0) }
        let needsName = hasScalars && !recognition.namesIcons
        let hasName = !needsName || entries.contains { recognition.isMapEntry($0, named: true) }
        if entries.count > 1, hasName { try openMap() }
    }

    func dropHeld() {
        for member in heldMembers.removeAll() {
            guard case .success(let value) = member.content, let key = member.key else { continue }
            recognition.unread.look(at: value, [.member(key)])
        }
    }

    private func openMap() throws {
        hasEntries = true
        let shape = recognition.settleMap(heldMembers.entries)
        recognition.use(ManifestPath(segments: [.members]))
        for member in heldMembers.removeAll() { try emit(member.of(shape)) }
    }
}

private struct HeldEntries {
    private static let maximumCount = 64

    private(set) var entries: [RawEntry] = []
    private var size = 0

    mutating func add(_ entry: RawEntry, size: Int, _ limits: ManifestLimits) -> Bool {
        self.size += size
        entries.append(entry)
        return self.size <= limits.maximumEntrySize && entries.count <= Self.maximumCount
    }

    mutating func removeAll() -> [RawEntry] {
        defer { self = HeldEntries() }
        return entries
    }
}

/// The root's members that an entry can have. They are kept because the root may be an entry.
struct RootMembers {
    private let keys: Set<ManifestPath.Segment>
    private let keepsAll: Bool
    var line: Int?
    private let marks: [ManifestPath]
    private let limits: ManifestLimits
    private(set) var members: [ManifestValue.Member] = []
    private var size = 0
    private var failure: EntryError?

    init(_ recognition: ShapeRecognition, limits: ManifestLimits) {
        self.limits = limits
        let lines = recognition.lineShapes.map { recognition.shapes[$0] }
        // Closures, because the compiler does not optimize these key paths.
        marks = lines.filter { $0.requires.isEmpty }.flatMap { $0.marks }
        let starts = lines.flatMap { $0.icons }.map { $0.path.segments.first }
        keepsAll =
            recognition.namesIcons && starts.contains { [.descendants, .members].contains($0) }
        let roots = recognition.shapes.filter { $0.entries.contains { $0.segments.isEmpty } }
        var keys = Set(EntryDecoder.plainKeys.map { ManifestPath.Segment.member($0) })
        for shape in lines + roots {
            let paths =
                shape.icons.map { $0.path } + shape.names + shape.marks + shape.requires
                + [shape.priority, shape.integrity, shape.key].compactMap { $0 }
            keys.formUnion(paths.compactMap { $0.segments.first })
        }
        self.keys = keys
    }

    mutating func clear() { (line, members, size, failure) = (nil, [], 0, nil) }

    var isEmpty: Bool { members.isEmpty }
    func isKept(_ key: String) -> Bool { keepsAll || keys.contains(.member(key)) }
    var value: ManifestValue { .dictionary(members) }

    var hasIcon: Bool {
        let value = value
        // A null icon counts, because an entry may have one.
        return marks.contains { !$0.matches(in: value, limit: 1).isEmpty }
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

    var entry: Result<ManifestValue, EntryError> { failure.map { .failure($0) } ?? .success(value) }
}
