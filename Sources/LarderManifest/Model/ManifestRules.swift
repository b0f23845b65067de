import LarderCore

/// How manifests are read. All of it has defaults: as a manifest's content tells.
public struct ManifestRules: Equatable, Sendable {
    /// What relative icon URLs are resolved against. Default: nil, the address that the manifest
    /// names, else the URL that it came from; without that they fail.
    public var baseURL: HTTPURL?
    /// Where the entries are. A path to an array stands for its elements; a filter
    /// (``ManifestPath/isFilter``) finds none. Default: nil, as the shape has it.
    public var entries: ManifestPath?
    /// Where an entry's name is. Default: nil, as the shape has it.
    public var nameKey: ManifestPath?
    /// Where an entry's icons are. Default: empty, as the shape has it.
    public var iconKeys: [ManifestPath] = []
    /// Where an entry's priority is. Default: nil, `priority` in the plain form alone.
    public var priorityKey: ManifestPath?
    /// Where an entry's digest is, as in Subresource Integrity or in 64 hexadecimal digits.
    /// Default: nil, beside the icon where the shape has digests.
    public var integrityKey: ManifestPath?
    /// What `{size}`, `{width}` and `{height}` in a URL stand for, in pixels. Default: 512.
    public var iconSize = 512
    /// Where `ipfs:` URLs are fetched from, such as `https://ipfs.io`. Default: nil, they fail.
    public var ipfsGateway: HTTPURL?
    /// Which icons are wanted if an entry has several. Default: all.
    public var icons = IconSelection.all

    /// What it may cost to read a manifest. Default: the limits' own defaults.
    public var limits = ManifestLimits()

    /// Rules with defaults for all else.
    public init(baseURL: HTTPURL? = nil) { self.baseURL = baseURL }

    var namedParts: [(part: ManifestSummary.NamedPart, path: ManifestPath)] {
        let parts: [(ManifestSummary.NamedPart, ManifestPath?)] =
            [(.name, nameKey), (.priority, priorityKey), (.integrity, integrityKey)]
        return parts.compactMap { part, path in path.map { (part, $0) } }
    }

    var shapes: [ManifestShape] {
        // If the place tells nothing, several shapes may have the icon; the plain one says most.
        let known = entries == nil ? ManifestShape.table : [.plain] + ManifestShape.table
        return known.enumerated().compactMap { number, known in
            var shape = known
            if let entries {
                // Found elsewhere, an entry has nothing from its surroundings, and is told by its
                // icon alone.
                guard shape.base == nil, number == 0 || shape.name != ManifestShape.plain.name
                else { return nil }
                shape.marks = shape.icons.map(\.path)
                let elements = ManifestPath(segments: entries.segments + [.elements])
                let isWhole = [.elements, .members].contains(entries.segments.last)
                shape.entries = isWhole ? [entries] : [elements, entries]
            }
            if !iconKeys.isEmpty {
                // One that the shape has, too, is made a URL as there.
                shape.icons = iconKeys.map { path in
                    known.icons.first { $0.path == path } ?? .init(path: path)
                }
                shape.marks = iconKeys
                // What is beside an icon that was named by hand may be about anything.
                shape.hasDigests = false
                shape.priority = nil
                shape.key = nil
                shape.names += ManifestShape.usualNames.filter { !shape.names.contains($0) }
            }
            if let nameKey { shape.names = [nameKey] }
            if let priorityKey { shape.priority = priorityKey }
            if let integrityKey { shape.integrity = integrityKey }
            return shape
        }
    }
}

/// Which icons of an entry are wanted if it has several.
public enum IconSelection: String, Sendable, CaseIterable {
    /// Every one: an app that is offline may ask for any of them.
    case all
    /// The largest; the first of several, and one of unknown size only if no size is known.
    case largest
    /// The smallest; one of unknown size counts as smallest, the first of several.
    case smallest
    /// The first, in the order of the shape's paths and then of the manifest.
    case first
}
