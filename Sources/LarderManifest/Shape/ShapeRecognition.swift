import LarderCore

/// The shape of a manifest: decided by the first element that shows one, and kept.
final class ShapeRecognition {
    let shapes: [ManifestShape]
    let isExplicit: Bool
    private let namesIcons: Bool
    private(set) var settled: Int?
    private(set) var used: [ManifestPath] = []
    private(set) var isMap = false
    /// What icons are relative to, if the manifest names it.
    var base: String?
    let unread = UnreadIcons()
    /// The shapes of elements of top-level arrays, and so of the lines of JSON Lines.
    let lineShapes: [Int]
    let mapShapes: [Int]
    private let plain: Int?
    private var hasFamiliar = false
    private var hasStrange = false

    var refusal: String {
        switch (isExplicit, namesIcons) {
        case (true, _) where !hasStrange: "there is nothing where --entries says"
        case (false, false): "a manifest of no known shape: \(ManifestSuggestion.advice)"
        case (false, true):
            "no entry has an icon where --icon-key says; --entries names the place of entries"
        case (true, false):
            "no entry with an icon at a known place is where --entries says;"
                + " --icon-key names the place of icons"
        case (true, true): "no entry where --entries says has an icon where --icon-key says"
        }
    }

    init(_ rules: ManifestRules) {
        shapes = rules.shapes + [.urls]
        isExplicit = rules.entries != nil
        namesIcons = !rules.iconKeys.isEmpty
        plain = shapes.firstIndex { $0.name == ManifestShape.plain.name }
        lineShapes = shapes.indices.filter { [shapes] index in
            rules.entries != nil || shapes[index].entries.contains { $0.segments == [.elements] }
        }
        mapShapes = shapes.indices.filter { [shapes] in
            shapes[$0].entries.contains { $0.segments == [.members] }
        }
    }

    /// The shape of a list of URLs, which is told by the format.
    func settleURLs() -> Int {
        settled = shapes.count - 1
        return shapes.count - 1
    }

    func use(_ place: ManifestPath) {
        if !used.contains(place) { used.append(place) }
    }

    /// Of the shapes that have entries at a place, those that the manifest may still be of.
    func usable(_ candidates: [Int]) -> [Int] {
        guard !isMap else { return [] }
        return candidates.filter {
            (settled == nil || settled == $0) && (shapes[$0].base == nil || base != nil)
        }
    }

    /// Whether every element is an entry: at places of the plain form, and at those named by hand.
    func isLenient(_ candidates: [Int]) -> Bool { plain.map(candidates.contains) ?? false }

    func shape(of element: Result<ManifestValue, EntryError>, among candidates: [Int]) -> Int? {
        if let settled { return settled }
        guard case .success(let element) = element,
            let found = candidates.first(where: { shapes[$0].matches(element) })
        else { return nil }
        settled = found
        return found
    }

    /// The shape if every element is an entry: the plain form before any was shown.
    func lenientShape(
        of element: Result<ManifestValue, EntryError>, among candidates: [Int]
    ) -> Int {
        if let found = shape(of: element, among: candidates) { return found }
        if case .success(.dictionary(let members)) = element {
            let isFamiliar = members.isEmpty || members.contains { EntryDecoder.hasMeaning($0.key) }
            if isFamiliar { hasFamiliar = true } else { hasStrange = true }
        }
        return plain ?? candidates.first ?? 0
    }

    /// Whether there were elements, and none had anything that is known.
    var isStrange: Bool { settled == nil && hasStrange && !hasFamiliar }

    /// Whether an element has no icon, but a list of entries that have: it is a manifest itself.
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

    func isOfMap(_ element: RawEntry) -> Bool {
        guard case .success(let value) = element.content else { return false }
        return mapShapes.contains { shapes[$0].matches(value) }
    }

    func settleMap(_ elements: [RawEntry]) -> Int {
        isMap = true
        for element in elements where settled == nil {
            _ = shape(of: element.content, among: mapShapes)
        }
        return settled ?? 0
    }

    /// The shape of a manifest that is an entry itself; nil if it is not one.
    func rootShape(_ root: RootMembers, hasEntries: Bool) -> Int? {
        guard !isMap, settled != nil || !hasEntries else { return nil }
        let index = settled ?? shapes.firstIndex { isRoot($0) && $0.matches(root.value) }
        guard let index, isRoot(shapes[index]), !root.isEmpty else { return nil }
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
            priority: shape.priority, integrity: shape.integrity, base: base)
    }
}
