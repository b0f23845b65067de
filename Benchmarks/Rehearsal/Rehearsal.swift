import Foundation
import LarderCache
import LarderIcons

/// A scroll over a table whose rows are the entries of a manifest, with one strategy.
///
///     let report = await Rehearsal(rows, trace, options, fetcher: fetcher).run()
///
/// The images, their memory and their way are real; the table is not, and nothing is drawn.
final class Rehearsal: Sendable {
    private let rows: TableRows
    private let trace: ScrollTrace
    private let options: RehearsalOptions
    private let fetcher: any IconFetcher
    private let latency: Duration
    private let bytesPerSecond: Int64?
    private let cancelledBytes: @Sendable () -> Int64
    private let inbox = Inbox()

    /// - Parameters:
    ///   - rows: the table.
    ///   - trace: how it is scrolled through.
    ///   - options: how that is rehearsed.
    ///   - fetcher: gets the icons.
    ///   - latency: what the network is to take longer for each request. Default: nothing.
    ///   - bytesPerSecond: what all downloads together may receive. Default: nil, what comes.
    ///   - cancelledBytes: how many bytes the fetcher has received of what was then cancelled. They
    ///     have not come over a line with a bandwidth of its own. Default: it does not know.
    init(
        _ rows: TableRows, _ trace: ScrollTrace, _ options: RehearsalOptions,
        fetcher: any IconFetcher, latency: Duration = .zero, bytesPerSecond: Int64? = nil,
        cancelledBytes: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        self.rows = rows
        self.trace = trace
        self.options = options
        self.fetcher = fetcher
        self.latency = latency
        self.bytesPerSecond = bytesPerSecond
        self.cancelledBytes = cancelledBytes
    }

    /// Ends it soon; what it has seen so far is reported. From any thread.
    func cancel() { inbox.end() }

    /// Runs it on a thread of its own, which is the main thread of the table.
    func run() async -> StrategyReport {
        var (report, epilogue) = await withCheckedContinuation { waiter in
            let run = { @Sendable [self] in waiter.resume(returning: scroll()) }
            if !HelperThread.start(run) { run() }
        }
        report.storeFailure = await epilogue()
        return report
    }

    private func scroll() -> (StrategyReport, LoadingStrategy.Epilogue) {
        let ledger = LinkLedger(rows)
        let identities = ImageIdentities(rows)
        let link = SimulatedLink(
            fetcher, latency: latency, bytesPerSecond: bytesPerSecond, ledger: ledger,
            identities: identities)
        let pressure = MemoryPressure()
        let screen = TableScreen(rows, identities: identities)
        let strategy = options.makeStrategy(screen, link, inbox, pressure)
        let table = TableThread(screen, strategy, trace, options, inbox, pressure)
        var report = table.run()
        // Whatever wakes up now has nothing more to do.
        inbox.end()
        let epilogue = strategy.end()
        report.link = ledger.finalCounts()
        if bytesPerSecond == nil {
            report.link.bytes += cancelledBytes()
            report.link.wastedBytes += cancelledBytes()
        }
        return (report, epilogue)
    }
}

/// How a scroll is rehearsed.
struct RehearsalOptions: Sendable {
    /// What makes the scroll go on.
    enum Pace: Sendable {
        /// Frames, sixty a second: the scroll's clock is so many times as fast as a real one.
        case frames(speed: Double)
        /// Images: each event waits until every visible row has come to its image, or to none. What
        /// is counted then depends on no time.
        case images
    }

    var strategy: StrategyName
    /// How many rows ahead are prefetched, by the strategy that does so.
    var prefetchAhead = 24
    /// A memory warning is raised when images take so many bytes.
    var memoryLimit = 32 << 20
    /// Downloads at once.
    var maximumConcurrent = 16
    var pace = Pace.frames(speed: 1)
    /// The cache directory of the strategy that has one. Nil: one that is made for the rehearsal,
    /// and removed.
    var directory: URL?
    /// So long the rows that are visible in the end may wait for their images, in seconds.
    var patience = 30.0

    init(_ strategy: StrategyName) { self.strategy = strategy }

    /// What larder's own strategy keeps in memory at most, in bytes: less than the limit, so that
    /// there is room for the images in cells.
    var cacheCostLimit: Int { memoryLimit / 4 * 3 }
}

extension RehearsalOptions {
    /// The strategy that is asked for.
    func makeStrategy(
        _ screen: TableScreen, _ fetcher: any IconFetcher, _ inbox: Inbox,
        _ pressure: MemoryPressure
    ) -> any LoadingStrategy {
        func queue(_ images: ImageDictionary?, shares: Bool) -> QueueStrategy {
            QueueStrategy(
                screen, fetcher, inbox, maximumConcurrent: maximumConcurrent, images: images,
                sharesDownloads: shares)
        }
        return switch strategy {
        case .synchronous: SynchronousStrategy(screen, fetcher, inbox)
        case .asynchronous: queue(nil, shares: false)
        case .memory: queue(ImageDictionary(pressure), shares: false)
        case .coalescing: queue(ImageDictionary(pressure), shares: true)
        case .sandbox: SandboxStrategy(screen, fetcher, inbox, self, pressure)
        }
    }
}
