struct RehearsalReport: Sendable {
    var rows: Int
    var urls: Int
    var rowsWithoutIcon: Int
    /// The number of invalid entries, which are also counted in ``rowsWithoutIcon``.
    var badEntries: Int
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
    /// In seconds; nil if no row got an image.
    var waits: Waits?
    /// The first warnings. ``warningCount`` counts all.
    var warnings: [MemoryWarning] = []
    var warningCount = 0
    var curve: [MemoryCurve.Point] = []
    /// In bytes.
    var peakHeld = 0
    /// In bytes.
    var peakResident: Int64 = 0
    var seconds = 0.0
    /// By the scroll's clock.
    var scrollSeconds = 0.0
    var isInterrupted = false
    /// The error if icons could not be stored.
    var storeFailure: StoreFailure?

    init(_ strategy: StrategyName) { self.strategy = strategy }

    /// Whether all downloads succeeded, including downloads for rows that had left, and no row
    /// showed another row's image.
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
    /// Like `asynchronous`, with all images in a dictionary until a memory warning.
    case memory
    /// Like `memory`, with shared downloads of an image.
    case coalescing
    /// Larder's `IconLoader`: limited memory, a cache directory and prefetching.
    case sandbox
}
