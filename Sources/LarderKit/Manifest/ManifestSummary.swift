/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public let format: ManifestFormat
    /// How many entries were handed over, the skipped and the failed ones included.
    public let entries: Int
    /// Where its entries and their parts were; nil where no entry has shown it.
    public let places: ManifestPlaces?

    init(format: ManifestFormat, entries: Int, places: ManifestPlaces? = nil) {
        self.format = format
        self.entries = entries
        self.places = places
    }

    /// What to say of entries of which none has shown a shape, and so none an icon; nil of all others.
    ///
    /// - Parameter source: the manifest that was read.
    public func complaint(of source: ManifestSource) -> ManifestError? {
        guard entries > 0, places == nil else { return nil }
        return ManifestError(
            .notAManifest, source: source.name,
            "none of its \(entries.of("entry", "entries")) has an icon: \(ShapeRecognition.advice)")
    }
}
