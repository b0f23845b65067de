import LarderCore

/// Options for reading manifests. By default, the content determines the shape.
public struct ManifestRules: Equatable, Sendable {
    /// The base URL of relative icon URLs. Default: nil, the address in the manifest, or else the
    /// manifest's URL. Without a base URL, relative names are not fetched.
    public var baseURL: HTTPURL?
    /// The paths to the entries, or to arrays of entries. A path with a filter before its end
    /// (``ManifestPath/isFilter``) finds nothing. Entries can contain entries. Default: empty, the
    /// shape's paths.
    public var entries: [ManifestPath] = []
    /// The path to an entry's name. Default: nil, the shape's paths.
    public var nameKey: ManifestPath?
    /// The paths to an entry's icons. Default: empty, the shape's paths.
    public var iconKeys: [ManifestPath] = []
    /// The icon URL of entries without icons at ``iconKeys``. Without ``iconKeys``, the shape's
    /// paths are not used. Default: nil.
    public var iconTemplate: IconTemplate?
    /// The sets whose icons are fetched. The first set with an icon is used. Default: none.
    public var iconSets: [IconSet] = []
    /// The path to an entry's priority. Default: nil, `priority` in the plain form only.
    public var priorityKey: ManifestPath?
    /// The path to an entry's digest, as Subresource Integrity or 64 hexadecimal digits. Default:
    /// nil, the digest next to the icon if the shape has digests.
    public var integrityKey: ManifestPath?
    /// The value of `{size}`, `{width}` and `{height}` in URLs, in pixels. Default: 512.
    public var iconSize = 512
    /// The gateway for `ipfs:` URLs, such as `https://ipfs.io`. Default: nil, which fetches none.
    public var ipfsGateway: HTTPURL?
    /// The icons to use from an entry. Default: all.
    public var icons = IconSelection.all
    /// The limits.
    public var limits = ManifestLimits()

    /// Creates rules.
    public init(baseURL: HTTPURL? = nil) { self.baseURL = baseURL }

    var namedParts: [(part: ManifestSummary.NamedPart, path: ManifestPath)] {
        let parts: [(ManifestSummary.NamedPart, ManifestPath?)] =
            [(.name, nameKey), (.priority, priorityKey), (.integrity, integrityKey)]
        return parts.compactMap { part, path in path.map { (part, $0) } }
    }

    func shapes(isXML: Bool = false) -> [ManifestShape] {
        // If several shapes match --entries, the plain form is used, because it has the most
        // members.
        let table = ManifestShape.table.filter { $0.isXML == isXML || isXML && !entries.isEmpty }
        let known = entries.isEmpty ? table : [.plain] + table
        return known.enumerated().compactMap { number, known in
            var shape = known
            if !entries.isEmpty {
                // The members around the entries are unknown.
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
                // A shape's icon path keeps the shape's template.
                shape.icons = iconKeys.map { path in
                    known.icons.first { $0.path == path } ?? .init(path: path)
                }
                shape.marks = iconKeys + (iconTemplate?.members ?? [])
                shape.template = iconTemplate
                // Members next to another icon may not describe that icon.
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
    /// The largest icon, or the first of several equally large icons. Unknown sizes are treated as
    /// the smallest.
    case largest
    /// The smallest icon, according to the same rules.
    case smallest
    /// The first icon, in the order of the shape's paths and the manifest.
    case first
}
