import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import LarderPrefetch
import Synchronization

@main
struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Simulate scrolling through a manifest's icons, and measure how they load.",
        discussion: """
            Each entry is a row of a simulated table, and the row shows the entry's first icon. \
            Images are really downloaded, cached and kept in memory. There are five strategies \
            for loading images:

            synchronous: download on the main thread when a row appears
            asynchronous: download with a queue when a row appears
            memory: like asynchronous, and keep images in memory until a memory warning
            coalescing: like memory, and share concurrent downloads of the same image
            sandbox: Larder's own strategy, with a limited memory cache and a cache directory; \
            prefetches upcoming rows, and cancels downloads for rows that leave the screen

            Without --cache, sandbox starts with an empty cache directory, which is removed at the \
            end. No other cache is read or written. Failed downloads are not retried.

            The exit status is 2 if an icon could not be loaded, an entry cannot be used, or a row \
            showed another row's image.
            """)

    private static let maximumComplaints = 20

    @Argument(
        help: ArgumentHelp(
            "A manifest in any format that larder reads. - reads standard input.",
            valueName: "manifest"))
    var manifest: String

    @OptionGroup(title: "Scrolling") var scroll: ScrollOptions
    @OptionGroup(title: "Strategies") var strategy: StrategyOptions
    @OptionGroup(title: "Reading the manifest") var reading: ReadingOptions
    @OptionGroup(title: "Network") var network: NetworkOptions
    @OptionGroup(title: "Output") var output: OutputOptions

    func run() async throws {
        CurlHosts.install()
        do {
            try await rehearse()
        } catch let error where error is ExitCode || error is ValidationError {
            throw error
        } catch {
            complain("\(error)")
            throw Self.status(of: error)
        }
    }

    private func rehearse() async throws {
        let others = try output.beside.map(RehearsalReport.strategy(inFile:))
        var badEntries = 0
        let rows = try TableRows.read(
            manifest == "-" ? .standardInput : .file(manifest), try reading.rules
        ) { complaint in
            badEntries += 1
            if badEntries <= Self.maximumComplaints { complain(complaint) }
        }
        let hasNothing = rows.urlCount == 0
        let trace = hasNothing ? ScrollTrace([]) : try scroll.trace(rows: rows.count)
        try makeCache()
        let interruption = Interruption()
        var reports: [StrategyReport] = []
        if !hasNothing { reports.append(try await rehearse(rows, trace, interruption)) }
        try conclude(
            RehearsalReport(
                rows, badEntries: badEntries, visible: trace.maximumVisible,
                prefetchAhead: scroll.prefetchAhead, memoryLimit: Int(strategy.memoryLimit),
                strategies: hasNothing ? [] : others + reports),
            of: reports.first, interruption)
    }

    /// Creates a missing cache directory, because a rehearsal that stores no icon would not report
    /// an unusable path. An existing directory may be read-only.
    private func makeCache() throws {
        guard let path = strategy.cache else { return }
        var status = stat()
        let exists = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if !exists { try Cache.create(at: path).close() }
    }

    private func rehearse(
        _ rows: TableRows, _ trace: ScrollTrace, _ interruption: Interruption
    ) async throws -> StrategyReport {
        var options = RehearsalOptions(strategy.strategy)
        scroll.apply(to: &options)
        strategy.apply(to: &options)
        options.maximumConcurrent = network.maxConcurrent
        let fetcher = try TransferFetcher(network.transfer)
        let rehearsal = Rehearsal(
            rows, trace, options, fetcher: fetcher, latency: .seconds(strategy.latency),
            bytesPerSecond: strategy.bandwidth.map { Int64($0) }
        ) { fetcher.cancelledBytes }
        interruption.watch { rehearsal.cancel() }
        return await rehearsal.run()
    }

    /// Prints the report, draws the chart, and throws the exit status. `own` has the results of
    /// this process.
    private func conclude(
        _ report: RehearsalReport, of own: StrategyReport?, _ interruption: Interruption
    ) throws {
        print(output.json ? report.json : report.text)
        if let chart = output.chart, own != nil {
            try Data(MemoryChart(report).svg.utf8).write(
                to: URL(fileURLWithPath: chart), options: .atomic)
        }
        if report.badEntries > 0 {
            complain("\(report.badEntries.of("entry", "entries")) of the manifest cannot be used")
        }
        (own?.complaints ?? []).forEach(complain)
        if let signal = interruption.signal { throw ExitCode(128 + signal) }
        if let failure = own?.storeFailure {
            throw Self.status(of: CacheError.Code(rawValue: failure.code))
        }
        if report.badEntries > 0 || own?.isSound == false { throw ExitCode(2) }
    }

    private func complain(_ message: String) {
        try? FileHandle.standardError.write(contentsOf: Data("rehearse: \(message)\n".utf8))
    }

    private static func status(of error: any Error) -> ExitCode {
        switch error {
        case let error as CacheError: status(of: error.code)
        case let error as ManifestError:
            ExitCode([.missing, .unreadable].contains(error.code) ? 66 : 65)
        case is UnreadableReportError: ExitCode(65)
        case let error as ScrollTraceError: ExitCode(error.isMissing ? 66 : 65)
        default: .failure
        }
    }

    private static func status(of code: CacheError.Code?) -> ExitCode {
        switch code {
        case .storage: ExitCode(74)
        case .locked: ExitCode(75)
        default: .failure
        }
    }
}

/// A handler of SIGINT and SIGTERM. The first signal ends the rehearsal early. The second signal
/// ends the process.
final class Interruption: Sendable {
    private let first = Mutex<Int32?>(nil)

    var signal: Int32? { first.withLock { $0 } }

    func watch(_ cancel: @escaping @Sendable () -> Void) {
        for number in [SIGINT, SIGTERM] {
            Foundation.signal(number, SIG_IGN)
            let source = DispatchSource.makeSignalSource(signal: number, queue: .global())
            source.setEventHandler { [self] in
                let isFirst = first.withLock { first in
                    defer { first = first ?? number }
                    return first == nil
                }
                if !isFirst { _exit(128 + number) }
                cancel()
                // The handler retains its source.
                _ = source
            }
            source.resume()
        }
    }
}
