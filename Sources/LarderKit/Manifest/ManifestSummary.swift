/// What reading a manifest to its end has shown.
public struct ManifestSummary: Equatable, Sendable {
    /// The format that the content turned out to be.
    public let format: ManifestFormat
    /// How many entries were handed over, the skipped and the failed ones included.
    public let entries: Int
}
