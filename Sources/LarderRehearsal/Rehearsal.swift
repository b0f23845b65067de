import Foundation
import LarderCache
import LarderIcons

/// A scroll over a table whose rows are the entries of a manifest, with one strategy.
///
///     let report = await Rehearsal(rows, trace, options, fetcher: fetcher).run()
///
/// The images, their memory and their way are real; the table is not, and nothing is drawn.
package final class Rehearsal: Sendable {
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
    package init(
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
    package func cancel() { inbox.end() }

    /// Runs it on a thread of its own, which is the main thread of the table.
    ///
    /// - Parameter progress: called there, now and then, with how much of the scroll is done, from
    ///   0 to 1.
    package func run(progress: @escaping @Sendable (Double) -> Void = { _ in }) async
        -> StrategyReport
    {
        var (report, epilogue) = await withCheckedContinuation { waiter in
            let run = { @Sendable [self] in waiter.resume(returning: scroll(progress)) }
            if !HelperThread.start(run) { run() }
        }
        report.storeFailure = await epilogue()
        return report
    }

    private func scroll(
        _ progress: (Double) -> Void
    ) -> (StrategyReport, LoadingStrategy.Epilogue) {
        let ledger = LinkLedger(rows)
        let identities = ImageIdentities(rows)
        let link = SimulatedLink(
            fetcher, latency: latency, bytesPerSecond: bytesPerSecond, ledger: ledger,
            identities: identities)
        let pressure = MemoryPressure()
        let screen = TableScreen(rows, identities: identities)
        let strategy = options.makeStrategy(screen, link, inbox, pressure)
        let table = TableThread(screen, strategy, trace, options, inbox, pressure)
        var report = table.run(progress)
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
