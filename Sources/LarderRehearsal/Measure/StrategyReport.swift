/// What a rehearsal with one strategy has shown.
package struct StrategyReport: Sendable, Codable {
    package var strategy: StrategyName
    package var rows = RowCounts()
    package var link = LinkCounts()
    package var frames = FrameTimes()
    /// From visible to image, in seconds; nil if no row had one.
    package var waits: Waits?
    package var warnings: [MemoryWarning] = []
    /// How many there were, those that are not listed included.
    package var warningCount = 0
    package var curve: [MemoryCurve.Point] = []
    /// The most bytes of images that were held.
    package var peakHeld = 0
    /// The most that the process had in memory, in bytes.
    package var peakResident: Int64 = 0
    /// How long it took.
    package var seconds = 0.0
    /// How much of it the scroll's clock saw.
    package var scrollSeconds = 0.0
    package var isInterrupted = false
    /// Why icons could not be stored in the cache directory.
    package var storeFailure: StoreFailure?

    package init(_ strategy: StrategyName) { self.strategy = strategy }

    package struct StoreFailure: Sendable, Codable, Equatable {
        /// A `CacheError.Code`.
        package let code: String
        package let message: String
    }

    package struct Waits: Sendable, Codable, Equatable {
        package let p50: Double
        package let p95: Double
        package let p99: Double

        package init(p50: Double, p95: Double, p99: Double) {
            (self.p50, self.p95, self.p99) = (p50, p95, p99)
        }
    }
}
