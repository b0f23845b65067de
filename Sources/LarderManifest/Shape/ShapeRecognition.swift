import LarderCore

/// A detector of a manifest's shape. The first element that matches a shape decides.
final class ShapeRecognition {
    private(set) var shapes: [ManifestShape] = []
    let isExplicit: Bool
    private(set) var isXML = false
    private let rules: ManifestRules
    let namesIcons: Bool
    private(set) var settled: Int?
    private(set) var used: [ManifestPath] = []
    private(set) var isMap = false
    var base: String? { didSet { bases += 1 } }
    private(set) var bases = 0
    let unread = UnreadIcons()
    /// Shapes whose entries can be in a top-level array or JSON Lines.
    private(set) var lineShapes: [Int] = []
    private(set) var mapShapes: [Int] = []
    private var namedShapes: [Int] = []
    private var plain: Int?
    private var hasFamiliar = false
    private var hasStrange = false

    var refusal: String {
        let icon =
            rules.iconKeys.isEmpty
            ? "a member of --icon-template" : "an icon at the --icon-key path"
        return switch (isExplicit, namesIcons) {
        case (true, _) where !hasStrange: "there are no entries at the --entries path"
        case (false, false): "the shape of the manifest is unknown; \(ManifestSuggestion.advice)"
        case (false, true):
            "no entry has \(icon); use --entries to say where the entries are"
        case (true, false):
            "no icons are recognised in the entries at the --entries path;"
                + " use --icon-key to say where the icons are"
        case (true, true): "no entry at the --entries path has \(icon)"
        }
    }

    init(_ rules: ManifestRules) {
        self.rules = rules
        isExplicit = !rules.entries.isEmpty
        namesIcons = !rules.iconKeys.isEmpty || rules.iconTemplate != nil
        use(rules.shapes() + [.hashes, .urls])
    }

    /// Uses the shapes for XML. Call this before examining elements.
    func prepareForXML() {
        isXML = true
        unread.isXML = true
        use(rules.shapes(isXML: true))
    }

    func adapted(_ path: ManifestPath) -> ManifestPath { isXML ? path.written(as: .element) : path }

    private func use(_ shapes: [ManifestShape]) {
        self.shapes = shapes
        plain = shapes.firstIndex { $0.name == ManifestShape.plain.name }
        lineShapes = shapes.indices.filter {
            isExplicit || shapes[$0].entries.contains { $0.segments == [.elements] }
        }
        namedShapes = shapes.indices.filter { !shapes[$0].entries.isEmpty }
        mapShapes = shapes.indices.filter {
            shapes[$0].entries.contains { $0.segments == [.members] }
        }
    }

    func settleURLs() -> Int {
        settled = shapes.count - 1
        return shapes.count - 1
    }

    func hashes(_ name: String, _ value: ManifestValue, isFirst: Bool) -> Int? {
        guard case .string(let hex, _) = value, Digest(hex: hex) != nil, !namesIcons,
            isHashes || settled == nil && isFirst && IconLikeness.hasImageExtension(name.utf8)
        else { return nil }
        settled = hashes
        use(ManifestPath(segments: [.members]))
        return hashes
    }

    var isHashes: Bool { settled == hashes }
    private var hashes: Int { shapes.count - 2 }

    /// Records a place with entries if `shape` is nil or the recognised shape.
    func use(_ place: ManifestPath, of shape: Int? = nil) {
        if shape == nil || shape == settled, !used.contains(place) { used.append(place) }
    }

    func candidates(at trails: [Trail]) -> [Int] {
        guard !isMap else { return [] }
        let ends = trails.filter(\.isEnd)
        guard !isExplicit else { return ends.isEmpty ? [] : settled.map { [$0] } ?? namedShapes }
        return ends.compactMap(\.shape).filter {
            let shape = shapes[$0]
            return (settled == nil || settled == $0)
                && (shape.base == nil || !shape.needsBase || base != nil)
        }
    }

    /// Whether every element is an entry, as in the plain form, in XML and with --entries.
    func isLenient(_ candidates: [Int]) -> Bool { isXML || plain.map(candidates.contains) ?? false }

    func shape(of element: Result<ManifestValue, EntryError>, among candidates: [Int]) -> Int? {
        if settled == nil, case .success(let element) = element {
            settled = candidates.first { shapes[$0].matches(element) }
        }
        return settled
    }

    func lenientShape(
        of element: Result<ManifestValue, EntryError>, among candidates: [Int]
    ) -> Int {
        if let found = shape(of: element, among: candidates) { return found }
        if case .success(.dictionary(let members)) = element {
            let hasPlainKey = EntryDecoder.plainKeys.contains { members[$0] != nil }
            if members.isEmpty || hasPlainKey { hasFamiliar = true } else { hasStrange = true }
        }
        return plain ?? candidates.first ?? 0
    }

    var isStrange: Bool { settled == nil && hasStrange && !hasFamiliar }

    /// Whether an element has a list of entries instead of an icon.
    func isList(_ element: Result<ManifestValue, EntryError>) -> Bool {
        guard !isExplicit, case .success(.dictionary(let members)) = element else { return false }
        let element = ManifestValue.dictionary(members)
        guard !lineShapes.contains(where: { shapes[$0].matches(element) }) else { return false }
        return shapes.contains { shape in
            shape.entries.contains { path in
                path.segments.count > 1
                    && path.matches(in: element, limit: 8).contains { shape.matches($0.value) }
            }
        }
    }

    func isMapEntry(_ element: RawEntry, named: Bool = false) -> Bool {
        guard case .success(let value) = element.content else { return false }
        return mapShapes.map { shapes[$0] }.contains { shape in
            shape.matches(value) && (!named || shape.names.contains { $0.first(in: value) != nil })
        }
    }

    func settleEmptyGroups(_ elements: [RawEntry], among candidates: [Int]) -> Int? {
        guard settled == nil else { return nil }
        let values = elements.compactMap { try? $0.content.get() }
        settled = candidates.first { values.contains(where: shapes[$0].isEmptyGroup) }
        return settled
    }

    func settleMap(_ elements: [RawEntry]) -> Int {
        isMap = true
        for element in elements { _ = shape(of: element.content, among: mapShapes) }
        return settled ?? 0
    }

    func rootShape(_ root: RootMembers, hasEntries: Bool) -> Int? {
        guard !isMap, settled != nil || !hasEntries else { return nil }
        let index = settled ?? shapes.firstIndex { isRoot($0) && $0.matches(root.value) }
        guard let index, isRoot(shapes[index]), !root.isEmpty else { return nil }
        let hasIcon = shapes[index].icons.contains { $0.path.first(in: root.value) != nil }
        guard hasIcon || !hasEntries else { return nil }
        settled = index
        return index
    }

    private func isRoot(_ shape: ManifestShape) -> Bool {
        !isExplicit && shape.entries.contains { $0.segments.isEmpty }
    }

    func places(base: HTTPURL?) -> ManifestPlaces? {
        guard let settled else { return nil }
        let shape = shapes[settled]
        return ManifestPlaces(
            shape: shape.name, entries: used, names: shape.names, icons: shape.icons.map(\.path),
            template: shape.template?.text, priority: shape.priority,
            integrity: shape.integrity, base: base,
            hasOwnBase: shape.base != nil && self.base != nil)
    }
}
