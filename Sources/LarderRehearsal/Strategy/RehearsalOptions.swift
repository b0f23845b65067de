import Foundation

/// How a scroll is rehearsed.
package struct RehearsalOptions: Sendable {
    /// What makes the scroll go on.
    package enum Pace: Sendable {
        /// Frames, sixty a second: the scroll's clock is so many times as fast as a real one.
        case frames(speed: Double)
        /// Images: each event waits until every visible row has come to its image, or to none. What
        /// is counted then depends on no time.
        case images
    }

    package var strategy: StrategyName
    /// How many rows ahead are prefetched, by the strategy that does so.
    package var prefetchAhead = 24
    /// A memory warning is raised when images take so many bytes.
    package var memoryLimit = 32 << 20
    /// Downloads at once.
    package var maximumConcurrent = 16
    package var pace = Pace.frames(speed: 1)
    /// The cache directory of the strategy that has one. Nil: one that is made for the rehearsal,
    /// and removed.
    package var directory: URL?
    /// So long the rows that are visible in the end may wait for their images, in seconds.
    package var patience = 30.0

    package init(_ strategy: StrategyName) { self.strategy = strategy }

    /// What larder's own strategy keeps in memory at most, in bytes: less than the limit, so that
    /// there is room for the images in cells.
    var cacheCostLimit: Int { memoryLimit / 4 * 3 }
}
