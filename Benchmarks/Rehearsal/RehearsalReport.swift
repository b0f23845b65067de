struct RehearsalReport: Sendable {
    var rows: Int
    var urls: Int
    /// The number of rows without an icon URL.
    var rowsWithoutIcon: Int
    /// The number of these rows whose entries are invalid.
    var badEntries: Int
    /// The maximum number of visible rows.
    var visible: Int
    var prefetchAhead: Int
    /// The limit of images in memory, in bytes.
    var memoryLimit: Int
    var strategies: [StrategyReport]

    init(
        _ rows: TableRows, badEntries: Int, visible: Int, prefetchAhead: Int, memoryLimit: Int,
        strategies: [StrategyReport]
    ) {
        self.rows = rows.count
        urls = rows.urlCount
        rowsWithoutIcon = rows.withoutIcon
        (self.badEntries, self.visible, self.prefetchAhead) = (badEntries, visible, prefetchAhead)
        (self.memoryLimit, self.strategies) = (memoryLimit, strategies)
    }
}

struct StrategyReport: Sendable {
    var strategy: StrategyName
    var rows = RowCounts()
    var link = LinkCounts()
    var frames = FrameTimes()
    /// The times from visible row to image, in seconds; nil if no row got an image.
    var waits: Waits?
    /// The first warnings. ``warningCount`` is the number of all.
    var warnings: [MemoryWarning] = []
    var warningCount = 0
    var curve: [MemoryCurve.Point] = []
    /// The peak size of images in memory, in bytes.
    var peakHeld = 0
    /// The peak resident memory of the process, in bytes.
    var peakResident: Int64 = 0
    var seconds = 0.0
    /// The duration of the scroll, on its own clock.
    var scrollSeconds = 0.0
    var isInterrupted = false
    /// The reason why icons could not be stored in the cache directory.
    var storeFailure: StoreFailure?

    init(_ strategy: StrategyName) { self.strategy = strategy }

    /// Whether all downloads succeeded and no row had another row's image. Includes downloads for
    /// rows that had left or were only prefetched.
    var isSound: Bool { rows.wrong == 0 && rows.failed == 0 && link.failures == 0 }

    struct StoreFailure: Sendable, Equatable {
        /// A `CacheError.Code`.
        let code: String
        let message: String
    }

    struct Waits: Sendable, Equatable {
        let p50: Double
        let p95: Double
        let p99: Double
    }
}

enum StrategyName: String, Sendable, CaseIterable {
    /// Downloads on the main thread when a row appears.
    case synchronous
    /// Downloads with a queue each time a row appears.
    case asynchronous
    /// Like `asynchronous`, with all images in a dictionary, which a memory warning empties.
    case memory
    /// Like `memory`, with shared downloads of the same image.
    case coalescing
    /// Larder's `IconLoader`: limited memory, a cache directory and prefetching.
    case sandbox
}
