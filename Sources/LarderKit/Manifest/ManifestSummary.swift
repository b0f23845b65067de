/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public let format: ManifestFormat
    /// How many entries were handed over, the skipped and the failed ones included.
    public let entries: Int
    /// Whether one of them has an icon, if only one that cannot be used.
    public let hasIcons: Bool
    /// Where its entries and their parts were; nil where no entry has shown it.
    public let places: ManifestPlaces?

    init(
        format: ManifestFormat, entries: Int, hasIcons: Bool = true, places: ManifestPlaces? = nil
    ) {
        self.format = format
        self.entries = entries
        self.hasIcons = hasIcons
        self.places = places
    }

    /// What to say of entries of which none has an icon, as where their place is not the shape's; nil of all
    /// others.
    ///
    /// - Parameter source: the manifest that was read.
    public func complaint(of source: ManifestSource) -> ManifestError? {
        guard entries > 0, !hasIcons else { return nil }
        return ManifestError(
            .notAManifest, source: source.name,
            "none of its \(entries.of("entry", "entries")) has an icon: \(ShapeRecognition.advice)")
    }
}
