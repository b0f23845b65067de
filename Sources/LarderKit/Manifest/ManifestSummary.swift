/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public let format: ManifestFormat
    /// How many entries were handed over, the skipped and the failed ones included.
    public let entries: Int
    /// Where its entries and their parts were; nil where no entry has shown it.
    public let places: ManifestPlaces?
    /// The places that the rules name for something beside icons and where no entry has anything.
    public let unmet: [ManifestPath]

    init(
        format: ManifestFormat, entries: Int, places: ManifestPlaces? = nil,
        unmet: [ManifestPath] = []
    ) {
        self.format = format
        self.entries = entries
        self.places = places
        self.unmet = unmet
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

    /// What to say of places that were named in vain: a digest that is not found is not checked.
    ///
    /// - Parameter source: the manifest that was read.
    public func warnings(of source: ManifestSource) -> [String] {
        guard places != nil else { return [] }
        return unmet.map { path in
            "\(source.name.sanitizedForTerminal): no entry has anything at"
                + " \(path.description.quoted())"
        }
    }
}
