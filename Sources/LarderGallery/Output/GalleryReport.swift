/// What a gallery shows.
public struct GalleryReport: Sendable {
    /// How many icons there are, also if they are more than are shown.
    public internal(set) var total = 0
    /// How many of each state are shown.
    public internal(set) var counts: [GalleryState: Int] = [:]

    /// How many are shown.
    public var shown: Int { counts.values.reduce(0, +) }
}
