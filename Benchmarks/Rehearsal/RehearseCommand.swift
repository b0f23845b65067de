import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import LarderPrefetch
import Synchronization

/// Scrolls through the icons of a manifest with one strategy, and reports what that takes.
@main
struct RehearseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Scroll through a manifest's icons as an app would, and show what that takes.",
        discussion: """
            Each entry is a row of a table, with the first of its icons. A scroll is replayed over \
            it. Images are really downloaded, cached and kept in memory; only the table is \
            simulated. There are five strategies to load images by:

            synchronous: when a row appears, the main thread downloads its image
            asynchronous: when a row appears, a queue downloads its image
            memory: the same, and images stay in memory until a memory warning
            coalescing: the same, and an image is not downloaded twice at a time
            sandbox: Larder's own; a limited memory cache, a cache directory, rows ahead are \
            prefetched, and rows that leave are cancelled

            Without --cache, sandbox begins with an empty cache directory, which is removed at the \
            end. No other cache is read or written. A download of an icon is tried once.

            The exit status is 2 if an icon could not be loaded, an entry cannot be used, or a row \
            had another row's image.
            """)

    /// The maximum number of bad entries to name.
    private static let mostComplaints = 20

    @Argument(
        help: ArgumentHelp(
            "A manifest file, or - for standard input: all formats that larder reads.",
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
            try await show()
        } catch let exit as ExitCode {
            throw exit
        } catch let usage as ValidationError {
            throw usage
        } catch {
            complain("\(error)")
            throw Self.status(of: error)
        }
    }

    private func show() async throws {
        let others = try output.beside.map(RehearsalReport.strategy(inFile:))
        var badEntries = 0
        let rows = try TableRows.read(
            manifest == "-" ? .standardInput : .file(manifest), try reading.rules
        ) { complaint in
            badEntries += 1
            if badEntries <= Self.mostComplaints { complain(complaint) }
        }
        let hasNothing = rows.urlCount == 0
        let trace = hasNothing ? ScrollTrace([]) : try scroll.trace(rows: rows.count)
        try makeCache()
        let interruption = Interruption()
        var reports: [StrategyReport] = []
        if !hasNothing { reports.append(try await rehearse(rows, trace, interruption)) }
        try conclude(
            RehearsalReport(
                rows, badEntries: badEntries, visible: trace.mostVisible,
                prefetchAhead: scroll.prefetchAhead, memoryLimit: Int(strategy.memoryLimit),
                strategies: hasNothing ? [] : others + reports),
            of: reports.first, interruption)
    }

    /// Fails as a prefetch does if there is no cache directory and none can be made, because a
    /// rehearsal that stores nothing would not find out. An existing one may be on a read-only
    /// medium.
    private func makeCache() throws {
        guard let path = strategy.cache else { return }
        var status = stat()
        let isThere = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if !isThere { try Cache.create(at: path).close() }
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

    /// - Parameter own: the report of this process; the others were read from files.
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
        case is UnreadableReport: ExitCode(65)
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

/// The first interrupt or termination ends the rehearsal early, the second one the process.
final class Interruption: Sendable {
    private let first = Mutex<Int32?>(nil)

    /// The first signal; nil if none came.
    var signal: Int32? { first.withLock { $0 } }

    /// Calls `cancel` for the first signal.
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
                // The source lives as long as its handler.
                _ = source
            }
            source.resume()
        }
    }
}
