import LarderTransfer

/// Where a manifest's entries and their parts were looked for: what `plan --explain` shows.
public struct ManifestPlaces: Equatable, Sendable {
    /// The shape's name, such as `F-Droid index v2`.
    public let shape: String
    /// Where entries were found; empty if each line is one.
    public let entries: [ManifestPath]
    /// Where an entry's name may be; the first that is there counts.
    public let names: [ManifestPath]
    /// Where an entry's icons may be; all count.
    public let icons: [ManifestPath]
    /// Where its priority is; nil if it has none.
    public let priority: ManifestPath?
    /// Where its digest is, if not beside the icon.
    public let integrity: ManifestPath?
    /// What relative icon URLs were resolved against; nil if there was nothing.
    public let base: HTTPURL?
}

extension ShapeRecognition {
    /// Where the manifest's entries were found; nil if nothing has shown a shape.
    func places(base: HTTPURL?) -> ManifestPlaces? {
        guard let settled else { return nil }
        let shape = shapes[settled]
        return ManifestPlaces(
            shape: shape.name,
            entries: used, names: shape.names, icons: shape.icons.map(\.path),
            priority: shape.priority, integrity: shape.integrity,
            base: base)
    }
}
