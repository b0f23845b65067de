/// What a rehearsal has shown: a table, a scroll, and each strategy.
struct RehearsalReport: Sendable {
    /// Rows of the table.
    var rows: Int
    /// Different URLs of icons.
    var urls: Int
    /// Rows without an icon that could be loaded.
    var rowsWithoutIcon: Int
    /// Of these, rows of entries that are wrong.
    var badEntries: Int
    /// The most rows that are visible at a time.
    var visible: Int
    var prefetchAhead: Int
    /// Bytes of images at which memory is short.
    var memoryLimit: Int
    var strategies: [StrategyReport]

    init(
        _ rows: TableRows, badEntries: Int, visible: Int, prefetchAhead: Int, memoryLimit: Int,
        strategies: [StrategyReport]
    ) {
        self.rows = rows.count
        urls = rows.urlCount
        rowsWithoutIcon = rows.withoutIcon
        self.badEntries = badEntries
        self.visible = visible
        self.prefetchAhead = prefetchAhead
        self.memoryLimit = memoryLimit
        self.strategies = strategies
    }
}

/// What a rehearsal with one strategy has shown.
struct StrategyReport: Sendable {
    var strategy: StrategyName
    var rows = RowCounts()
    var link = LinkCounts()
    var frames = FrameTimes()
    /// From visible to image, in seconds; nil if no row had one.
    var waits: Waits?
    var warnings: [MemoryWarning] = []
    /// How many there were, those that are not listed included.
    var warningCount = 0
    var curve: [MemoryCurve.Point] = []
    /// The most bytes of images that were held.
    var peakHeld = 0
    /// The most that the process had in memory, in bytes.
    var peakResident: Int64 = 0
    /// How long it took.
    var seconds = 0.0
    /// How much of it the scroll's clock saw.
    var scrollSeconds = 0.0
    var isInterrupted = false
    /// Why icons could not be stored in the cache directory.
    var storeFailure: StoreFailure?

    init(_ strategy: StrategyName) { self.strategy = strategy }

    /// Whether every image that was wanted was loaded, and no row had another row's. A download may
    /// have failed for a row that was gone by then, or was only ahead.
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

        init(p50: Double, p95: Double, p99: Double) {
            (self.p50, self.p95, self.p99) = (p50, p95, p99)
        }
    }
}

/// A way for an app to get the images of its rows.
enum StrategyName: String, Sendable, CaseIterable {
    /// A row's image is downloaded when it appears, on the main thread.
    case synchronous
    /// It is downloaded by a queue, each time that the row appears.
    case asynchronous
    /// The same with all images in a dictionary, which is emptied when memory is short.
    case memory
    /// The same, and no image is downloaded twice at a time.
    case coalescing
    /// Larder's: memory within a limit, the cache directory, and rows ahead.
    case sandbox
}
