import Foundation
import LarderCache
import LarderIcons

/// A simulated scroll through a table of icons, with one loading strategy.
///
///     let report = await Rehearsal(rows, trace, options, fetcher: fetcher).run()
///
/// Images are really loaded and kept in memory. Nothing is drawn.
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
    ///   - latency: Added to each request. Default: none.
    ///   - bytesPerSecond: The bandwidth of all downloads together. Default: nil, no limit.
    ///   - cancelledBytes: Returns the number of bytes received for cancelled requests, if there is
    ///     no simulated bandwidth. Default: 0.
    init(
        _ rows: TableRows, _ trace: ScrollTrace, _ options: RehearsalOptions,
        fetcher: any IconFetcher, latency: Duration = .zero, bytesPerSecond: Int64? = nil,
        cancelledBytes: @escaping @Sendable () -> Int64 = { 0 }
    ) {
        (self.rows, self.trace, self.options, self.fetcher) = (rows, trace, options, fetcher)
        (self.latency, self.bytesPerSecond) = (latency, bytesPerSecond)
        self.cancelledBytes = cancelledBytes
    }

    /// Ends the rehearsal early, from any thread. The report covers the time until then.
    func cancel() { inbox.end() }

    /// Runs the rehearsal on a new thread, the table's main thread.
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
        // Threads that still wait see that the rehearsal has ended.
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

struct RehearsalOptions: Sendable {
    enum Pace: Sendable {
        /// Sixty frames per second, at `speed` times real time.
        case frames(speed: Double)
        /// Each event waits until all visible rows are complete. Counts then do not depend on time.
        case images
    }

    var strategy: StrategyName
    /// The number of rows that are prefetched.
    var prefetchAhead = 24
    /// The size of images that causes a memory warning, in bytes.
    var memoryLimit = 32 << 20
    var maximumConcurrent = 16
    var pace = Pace.frames(speed: 1)
    /// The cache directory. Default: nil, a temporary one.
    var directory: URL?
    /// The time to wait for the last images, in seconds.
    var patience = 30.0

    init(_ strategy: StrategyName) { self.strategy = strategy }

    /// The limit of the memory cache, in bytes. The images in cells take the rest.
    var cacheCostLimit: Int { memoryLimit / 4 * 3 }

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
