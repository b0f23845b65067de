import LarderCore

/// Options for reading manifests. By default, the content determines the shape.
public struct ManifestRules: Equatable, Sendable {
    /// The base URL of relative icon URLs. If nil, the manifest's base URL is used, or else the URL
    /// of the manifest. If neither exists, relative names are not fetched. Default: nil.
    public var baseURL: HTTPURL?
    /// The paths to entries or to arrays of entries. Entries can be nested. A path with
    /// ``ManifestPath/isFilter`` finds nothing. If empty, the shape's paths apply. Default: empty.
    public var entries: [ManifestPath] = []
    /// The path to an entry's name. If nil, the shape's paths apply. Default: nil.
    public var nameKey: ManifestPath?
    /// The paths to an entry's icons. If empty, the shape's paths apply. Default: empty.
    public var iconKeys: [ManifestPath] = []
    /// The template of the icon URL, for entries without icons at ``iconKeys``. With a template,
    /// the shape's paths to icons do not apply. Default: nil.
    public var iconTemplate: IconTemplate?
    /// The sets whose icons are fetched. The first set that matches a value is used. Default: none.
    public var iconSets: [IconSet] = []
    /// The path to an entry's priority. If nil, only the plain form has priorities. Default: nil.
    public var priorityKey: ManifestPath?
    /// The path to an entry's digest, as Subresource Integrity or 64 hexadecimal digits. If nil,
    /// the digest next to the icon is read if the shape has digests. Default: nil.
    public var integrityKey: ManifestPath?
    /// The size in pixels for `{size}`, `{width}`, `{height}`, `{w}` and `{h}`. Default: 512.
    public var iconSize = 512
    /// The gateway for `ipfs:` URLs, which are not fetched if it is nil. Default: nil.
    public var ipfsGateway: HTTPURL?
    /// The icons to use from an entry. Default: all.
    public var icons = IconSelection.all
    /// The limits on sizes and depths.
    public var limits = ManifestLimits()

    /// Creates rules with defaults, except for the base URL.
    public init(baseURL: HTTPURL? = nil) { self.baseURL = baseURL }

    func shapes(isXML: Bool = false) -> [ManifestShape] {
        // With --entries, the plain form is tried first, because it has the most members.
        let table = ManifestShape.table.filter { $0.isXML == isXML || isXML && !entries.isEmpty }
        let known = entries.isEmpty ? table : [.plain] + table
        return known.enumerated().compactMap { number, known in
            var shape = known
            if !entries.isEmpty {
                // With --entries, only icons identify a shape, so it must not need other members.
                guard shape.base == nil || !shape.needsBase, shape.requires.isEmpty,
                    !shape.isGroup, number == 0 || shape.name != ManifestShape.plain.name
                else { return nil }
                shape.base = nil
                shape.marks = shape.icons.map(\.path)
                shape.entries = entries.flatMap { path in
                    switch path.segments.last {
                    case .elements, .members, .elementsWhere: [path]
                    default: [ManifestPath(segments: path.segments + [.elements]), path]
                    }
                }
            }
            if !iconKeys.isEmpty || iconTemplate != nil {
                // If the shape has the same path, its template is kept.
                shape.icons = iconKeys.map { path in
                    known.icons.first { $0.path == path } ?? .init(path: path)
                }
                shape.marks = iconKeys + (iconTemplate?.members ?? [])
                shape.template = iconTemplate
                // The shape's digest, priority and key may not describe the icons at these paths.
                shape.hasDigests = false
                shape.priority = nil
                shape.key = nil
                shape.names += ManifestShape.usualNames.filter { !shape.names.contains($0) }
            }
            if let nameKey { shape.names = [nameKey] }
            if let priorityKey { shape.priority = priorityKey }
            if let integrityKey { shape.integrity = integrityKey }
            return isXML ? shape.inXML : shape
        }
    }
}

/// The icons to use from an entry.
public enum IconSelection: String, Sendable, CaseIterable {
    /// All icons, because an offline app may request any of them.
    case all
    /// The largest icon, or the first of several with that size. Unknown sizes count as 0.
    case largest
    /// The smallest icon, or the first of several with that size. Unknown sizes count as 0.
    case smallest
    /// The first icon, in the order of the shape's paths and then of the manifest.
    case first
}
