import ArgumentParser
import Foundation
import LarderCache
import LarderKit
import LarderPresentation
import LarderRehearsal

struct RehearseCommand: AsyncParsableCommand, GuidedCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "rehearse",
        abstract: "Scroll through a manifest's icons as an app would, and show what that takes.",
        discussion: """
            Each entry is a row of a table, with the first of the icons that --icons takes. A \
            scroll is replayed over it. Images are really downloaded, cached and kept in memory; \
            only the table is simulated. There are five strategies to load images by:

            synchronous: when a row appears, the main thread downloads its image
            asynchronous: when a row appears, a queue downloads its image
            memory: the same, and images stay in memory until a memory warning
            coalescing: the same, and an image is not downloaded twice at a time
            sandbox: larder's own; a limited memory cache, a cache directory, rows ahead are \
            prefetched, and rows that leave are cancelled

            Without --cache, sandbox begins with an empty cache directory, which is removed at the \
            end. No other cache is read or written. A download of an icon is tried once.

            The exit status is 2 if an icon could not be loaded, an entry cannot be used, or a row \
            had another row's image.
            """)

    static let guide = CommandGuide(
        usual: [
            "--strategy", "--compare", "--cache", "--scroll", "--trace", "--rows-visible",
            "--speed", "--wait-for-images", "--memory-limit", "--latency", "--bandwidth",
            "--chart", "--json", "--quiet",
        ],
        examples: [
            .init(
                "Compare ways to load the icons of a manifest.",
                "larder rehearse apps.json --compare --chart memory.svg"),
            .init(
                "Scroll as if on a slow line.",
                "larder rehearse apps.json --latency 40ms --bandwidth 2MB/s"),
        ])

    /// So many bad entries are named.
    private static let mostComplaints = 20

    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Scrolling") var scroll: ScrollOptions
    @OptionGroup(title: "Strategies") var strategy: StrategyOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Limits") var transfer: TransferOptions
    @OptionGroup(title: "Retries of manifests at URLs, not of icons") var retry: RetryOptions
    @OptionGroup(title: "Addresses") var addresses: AddressOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions

    @Option(
        help: ArgumentHelp(
            "Draw memory over time, with its limit and warnings, into this file, as SVG.",
            valueName: "file.svg"))
    var chart: String?

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    /// Set in the processes that `--compare` starts.
    @Option(help: .hidden)
    var worker: RehearsalWorker?

    func validate() throws {
        if retry.ratePerHost != nil {
            throw ValidationError(
                "--rate-per-host is not for rehearse, which asks for icons as fast as an app does.")
        }
        // Also "-", and "": a variable that is not set, in a script.
        if let chart, !chart.lowercased().hasSuffix(".svg") {
            throw ValidationError(
                "--chart draws SVG into a file, whose name must end in .svg: '\(chart)' does not.")
        }
    }

    func run() async throws {
        try await ExitStatus.of(nil) {
            if let worker {
                let rows = try worker.readRows()
                let trace = try scroll.trace(rows: rows.count, readFrom: worker.traceFile)
                let report = try await rehearse(
                    rows, trace, worker.strategy, Interrupts(isQuiet: true)
                ) { worker.onEndOfInput($0.cancel) }
                return try worker.write(report)
            }
            try await show()
        }
    }

    private func show() async throws {
        let interrupts = Interrupts(isQuiet: quiet)
        if let chart {
            try OutputFile.confirm(
                chart, isNoneOf: manifest.manifests, or: scroll.trace, orIn: strategy.cache,
                for: "--chart")
            try OutputReplacement(chart).check()
        }
        let configuration = try configuration
        var badEntries = 0
        let rows = try TableRows.read(
            try manifest.sources(configuration), configuration.manifestRules
        ) { complaint in
            badEntries += 1
            if !quiet, badEntries <= Self.mostComplaints { Console.complain(complaint) }
        }
        let hasNothing = rows.urlCount == 0
        let trace = hasNothing ? ScrollTrace([]) : try scroll.trace(rows: rows.count)
        try makeCache()
        let names = hasNothing ? [] : strategy.names
        var reports: [StrategyReport] = []
        if strategy.compare, !hasNothing {
            reports = try await RehearsalComparison(
                rows, scroll.trace == nil ? nil : trace, interrupts
            ).run(names)
        } else {
            for name in names {
                reports.append(try await rehearse(rows, trace, name, interrupts))
            }
        }
        try conclude(
            RehearsalReport(
                rows, badEntries: badEntries, visible: trace.mostVisible,
                prefetchAhead: scroll.prefetchAhead,
                memoryLimit: Int(strategy.memoryLimit.bytes), strategies: reports,
                notRehearsed: names.filter { name in
                    !reports.contains { $0.strategy == name }
                }),
            interrupts)
    }

    /// Fails as a prefetch does if there is no cache directory and none can be made: a rehearsal
    /// that stores nothing would not find out. One that is there may be on a read-only medium.
    private func makeCache() throws {
        guard let path = strategy.cache else { return }
        var status = stat()
        let isThere = stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
        if !isThere { try Cache.create(at: path).close() }
    }

    private func rehearse(
        _ rows: TableRows, _ trace: ScrollTrace, _ name: StrategyName, _ interrupts: Interrupts,
        prepare: (Rehearsal) -> Void = { _ in }
    ) async throws -> StrategyReport {
        let configuration = try configuration
        var options = RehearsalOptions(name)
        scroll.apply(to: &options)
        strategy.apply(to: &options)
        options.maximumConcurrent = configuration.maximumConcurrent
        let fetcher = try TransferFetcher(configuration)
        let rehearsal = Rehearsal(
            rows, trace, options, fetcher: fetcher, latency: strategy.latency.duration,
            bytesPerSecond: strategy.bandwidth?.bytes
        ) { fetcher.cancelledBytes }
        prepare(rehearsal)
        interrupts.ask("ending the rehearsal") { rehearsal.cancel() }
        let line = ProgressLine(isQuiet: quiet)
        let report = await rehearsal.run {
            line.show(.scroll(name, $0))
        }
        line.clear()
        return report
    }

    private func conclude(_ report: RehearsalReport, _ interrupts: Interrupts) throws {
        if json { print(report.json) } else if !quiet { print(report.text) }
        if let chart, !report.strategies.isEmpty {
            try OutputFile.write(MemoryChart(report).svg, to: chart)
        }
        var complaints = report.complaints
        if report.badEntries > 0 {
            complaints.insert(
                "\(report.badEntries.of("entry", "entries")) of the manifest cannot be used", at: 0)
        }
        if quiet {
            if !complaints.isEmpty { Console.complain(complaints.joined(separator: "; ")) }
        } else {
            complaints.forEach(Console.complain)
        }
        if report.isInterrupted || interrupts.signal != nil { try interrupts.status.exit() }
        for failure in report.strategies.compactMap(\.storeFailure) {
            try (CacheError.Code(rawValue: failure.code).map(ExitStatus.init) ?? .couldNotRun)
                .exit()
        }
        if !report.isSound { try ExitStatus.someFailed.exit() }
    }

    private var configuration: PrefetchConfiguration {
        get throws {
            // No cache is opened by it.
            var configuration = PrefetchConfiguration(cache: strategy.cache ?? "")
            configuration.manifestRules = try reading.rules
            configuration.acceptsAnyContent = manifest.anyContent
            try applyNetwork(to: &configuration)
            return configuration
        }
    }
}

extension TransferFetcher {
    fileprivate convenience init(_ configuration: PrefetchConfiguration) throws {
        var transfer = configuration.transfer
        transfer.maximumConnections = configuration.maximumConcurrent
        transfer.maximumConnectionsPerHost = configuration.maximumPerHost
        try self.init(
            transfer, headers: configuration.headers,
            maximumBodyBytes: configuration.maximumObjectBytes,
            allowsDowngrade: configuration.allowsDowngrade,
            acceptsAnyContent: configuration.acceptsAnyContent)
    }
}
