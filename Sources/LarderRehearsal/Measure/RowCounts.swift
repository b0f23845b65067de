/// What rows showed, each time that one with an icon became visible.
///
/// `shown` is always `memoryHits + diskHits + networkImages + failed + unseen` in the end.
package struct RowCounts: Sendable, Codable, Equatable {
    /// How often a row with an icon became visible.
    package var shown = 0
    /// Its image was in memory, and was there at once.
    package var memoryHits = 0
    /// Its image came from the cache directory.
    package var diskHits = 0
    /// Its image came from the network.
    package var networkImages = 0
    /// There was no image to be had.
    package var failed = 0
    /// It was gone, or all was over, before its image came.
    package var unseen = 0
    /// It had another row's image at some time.
    package var wrong = 0

    package init() {}
}
