/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public let format: ManifestFormat
    /// How many entries were handed over, the skipped and the failed ones included.
    public let entries: Int
    /// Where its entries and their parts were; nil if no entry has shown it.
    public let places: ManifestPlaces?
    /// What the rules name a place for, but no entry has.
    public let unmet: [NamedPart]
    /// Where icons may be if no entry has shown a shape, the likeliest first.
    public internal(set) var suggestions: [ManifestSuggestion] = []

    /// A part of an entry whose place may be named, by the option that names it.
    public enum NamedPart: String, Sendable {
        case name = "--name-key"
        case priority = "--priority-key"
        case integrity = "--integrity-key"

        var warning: String { "no entry has anything where \(rawValue) says" }
    }

    init(
        format: ManifestFormat, entries: Int, places: ManifestPlaces? = nil,
        unmet: [NamedPart] = []
    ) {
        self.format = format
        self.entries = entries
        self.places = places
        self.unmet = unmet
    }

    /// What to say of entries of which none has shown a shape, and so none an icon; nil of all
    /// others.
    ///
    /// - Parameter source: the manifest that was read.
    public func refusal(of source: ManifestSource) -> ManifestError? {
        guard entries > 0, places == nil else { return nil }
        return ManifestError(
            .notAManifest, source: source.name,
            (entries == 1
                ? "its only entry has no icon" : "none of its \(entries) entries has an icon")
                + ": \(ShapeRecognition.advice)"
        ).suggesting(suggestions)
    }

    /// What to say of places that were named in vain: a digest that is not found is not checked.
    ///
    /// - Parameter source: the manifest that was read.
    public func warnings(of source: ManifestSource) -> [String] {
        guard places != nil else { return [] }
        return unmet.map { "\(source.name.sanitizedForTerminal): \($0.warning)" }
    }
}
