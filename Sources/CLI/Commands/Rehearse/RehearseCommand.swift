import ArgumentParser
import Foundation
import LarderCache
import LarderPrefetch
import LarderRehearsal
import Synchronization

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
            try manifest.sources().map { $0.opened(by: configuration.openManifest) },
            configuration.manifestRules
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

/// A rehearsal with each strategy, one after another, each in a process of its own.
final class RehearsalComparison: Sendable {
    private let rows: TableRows
    private let trace: ScrollTrace?
    private let interrupts: Interrupts
    /// What the process that runs takes for a sign to go on.
    private let input = Mutex<Pipe?>(nil)

    /// - Parameter trace: nil if the options alone say how to scroll.
    init(_ rows: TableRows, _ trace: ScrollTrace?, _ interrupts: Interrupts) {
        self.rows = rows
        self.trace = trace
        self.interrupts = interrupts
    }

    /// - Returns: the reports of those that have come to one.
    func run(_ strategies: [StrategyName]) async throws -> [StrategyReport] {
        let directory = try ScratchDirectory(named: "larder-comparison")
        defer { directory.remove() }
        interrupts.ask("ending the rehearsal") { [self] in
            input.withLock { try? $0?.fileHandleForWriting.close() }
        }
        try RehearsalWorker.prepare(directory.path, rows, trace)
        var reports: [StrategyReport] = []
        for strategy in strategies where interrupts.signal == nil {
            let worker = RehearsalWorker(strategy, in: directory.path)
            let status = try await run(worker)
            guard let report = try worker.readReport() else {
                if interrupts.signal != nil { break }
                throw Failure(strategy: strategy, status: status)
            }
            reports.append(report)
        }
        return reports
    }

    private func run(_ worker: RehearsalWorker) async throws -> Int32 {
        let process = Process()
        process.executableURL = Bundle.main.executableURL
        var arguments = CommandLine.arguments
        // Behind the command's name: what comes after `--` is no option.
        arguments[0...1] = ["rehearse", "--worker", worker.argument]
        process.arguments = arguments
        let pipe = Pipe()
        process.standardInput = pipe
        input.withLock { $0 = pipe }
        return try await withCheckedThrowingContinuation { waiter in
            process.terminationHandler = { waiter.resume(returning: $0.terminationStatus) }
            do {
                try process.run()
                // A signal may have come before there was anything to close.
                if interrupts.signal != nil {
                    input.withLock { try? $0?.fileHandleForWriting.close() }
                }
            } catch {
                process.terminationHandler = nil
                waiter.resume(throwing: error)
            }
        }
    }

    /// A process that ended without a report; it has said why.
    private struct Failure: Error, CustomStringConvertible {
        let strategy: StrategyName
        let status: Int32

        var description: String {
            "the rehearsal of \(strategy.rawValue) ended with status \(status)"
        }
    }
}

/// One strategy of a comparison, in a process of its own, so that what the process has in memory is
/// the strategy's doing.
///
/// The process has the options of the one that compares, and finds in a directory what that has
/// read: a manifest or a trace may be a pipe. Its standard input ends when it is to end.
struct RehearsalWorker: ExpressibleByArgument {
    let strategy: StrategyName
    let directory: String

    init(_ strategy: StrategyName, in directory: String) {
        self.strategy = strategy
        self.directory = directory
    }

    init?(argument: String) {
        let parts = argument.split(separator: ":", maxSplits: 1)
        guard parts.count == 2, let strategy = StrategyName(rawValue: String(parts[0])) else {
            return nil
        }
        self.init(strategy, in: String(parts[1]))
    }

    var argument: String { "\(strategy.rawValue):\(directory)" }

    /// The trace that was named, if one was.
    var traceFile: String? {
        let file = "\(directory)/trace.jsonl"
        return access(file, F_OK) == 0 ? file : nil
    }

    private var rowsFile: String { "\(directory)/rows.txt" }
    private var reportFile: String { "\(directory)/\(strategy.rawValue).json" }

    /// Leaves there what the processes are to find.
    static func prepare(_ directory: String, _ rows: TableRows, _ trace: ScrollTrace?) throws {
        try OutputFile.write(
            (0..<rows.count).map { "\(rows[$0] ?? "")\n" }.joined(),
            to: "\(directory)/rows.txt")
        if let trace { try OutputFile.write(trace.text, to: "\(directory)/trace.jsonl") }
    }

    /// The table.
    func readRows() throws -> TableRows {
        let lines = try Data(contentsOf: URL(fileURLWithPath: rowsFile))
            .split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).dropLast()
        return TableRows(
            lines.lazy.map { $0.isEmpty ? nil : String(decoding: $0, as: UTF8.self) })
    }

    func write(_ report: StrategyReport) throws {
        let text = try JSONEncoder().encode(report)
        try OutputFile.write(String(decoding: text, as: UTF8.self), to: reportFile)
    }

    /// What the process has written; nil if it has not come so far.
    func readReport() throws -> StrategyReport? {
        guard let text = FileManager.default.contents(atPath: reportFile) else { return nil }
        return try JSONDecoder().decode(StrategyReport.self, from: text)
    }

    /// Calls `body` when the process that compares has ended, or wants this one to end.
    func onEndOfInput(_ body: @escaping @Sendable () -> Void) {
        let hasThread = HelperThread.start {
            var byte: UInt8 = 0
            while true {
                let count = read(STDIN_FILENO, &byte, 1)
                if count == 0 || count < 0 && errno != EINTR { return body() }
            }
        }
        // Nobody could end this process then.
        if !hasThread { body() }
    }
}

/// How the table is scrolled.
struct ScrollOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            How to scroll: slow, half a screen a second; fling, by flings; there-and-back, two \
            screens a second; jump, to 20 places, twice. (default: there-and-back)
            """, valueName: "pattern"))
    var scroll: ScrollPattern?

    @Option(
        help: ArgumentHelp(
            """
            Replay the scroll of this file: JSON Lines of {"time": seconds, "first": row, \
            "visible": rows}, with rows counted from 0.
            """, valueName: "file"))
    var trace: String?

    @Option(
        help: ArgumentHelp(
            "How many rows --scroll shows at once; a trace says so itself. (default: 12)",
            valueName: "n"))
    var rowsVisible: Int?

    @Option(
        help: ArgumentHelp(
            "How many rows ahead the strategy sandbox prefetches.", valueName: "n"))
    var prefetchAhead = 24

    @Option(
        help: ArgumentHelp(
            """
            Let the clock of the scroll run this many times as fast, such as 10 or 0.5. (default: 1)
            """, valueName: "factor"),
        transform: { try Quantity.number($0, unit: "x") })
    var speed: Double?

    @Flag(
        help: """
            Scroll on only when all visible rows have their images, as fast as that goes. Counts \
            then depend on no time.
            """)
    var waitForImages = false

    func validate() throws {
        if trace == "" { throw ValidationError("--trace needs the name of a file.") }
        if trace != nil, scroll != nil {
            throw ValidationError("--trace and --scroll exclude each other.")
        }
        if trace != nil, rowsVisible != nil {
            throw ValidationError(
                "--trace and --rows-visible exclude each other: a trace says how many are visible.")
        }
        let most = ScrollTraceReader.maximumVisible
        if let rowsVisible, !(1...most).contains(rowsVisible) {
            throw ValidationError("--rows-visible must be from 1 to \(most).")
        }
        guard (0...10_000).contains(prefetchAhead) else {
            throw ValidationError("--prefetch-ahead must be from 0 to 10000.")
        }
        if let speed, !(0.01...1000).contains(speed) {
            throw ValidationError("--speed must be from 0.01 to 1000.")
        }
        if waitForImages, speed != nil {
            throw ValidationError("--wait-for-images and --speed exclude each other.")
        }
    }

    /// - Parameter file: read in place of the file that is named.
    /// - Throws: `ScrollTraceError`.
    func trace(rows: Int, readFrom file: String? = nil) throws -> ScrollTrace {
        if let name = file ?? trace {
            return try ScrollTraceReader(name: name, rows: rows).readFile()
        }
        return (scroll ?? .thereAndBack).trace(rows: rows, visible: rowsVisible ?? 12)
    }

    func apply(to options: inout RehearsalOptions) {
        options.prefetchAhead = prefetchAhead
        options.pace = waitForImages ? .images : .frames(speed: speed ?? 1)
    }
}

extension ScrollPattern: ExpressibleByArgument {}

/// How a rehearsed app gets its images, and what it is short of.
struct StrategyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The strategy to load images by. (default: sandbox)", valueName: "name"))
    var strategy: StrategyName?

    @Flag(help: "Rehearse with every strategy, one after another, each in a process of its own.")
    var compare = false

    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            """
            Let the strategy sandbox read icons from this cache directory, and add those that it \
            downloads; $LARDER_CACHE is not used. (default: an empty one, which is removed at \
            the end)
            """,
            valueName: "dir"))
    var cache: String?

    @Option(
        help: ArgumentHelp(
            """
            Raise a memory warning when images take this much memory. sandbox keeps at most three \
            quarters of it in its memory cache. (default: 32MiB)
            """, valueName: "size"),
        transform: ByteCount.parse)
    var memoryLimit = ByteCount(32 << 20)

    @Option(
        help: ArgumentHelp(
            "Wait this long before each download: 40ms, 1s. (default: 0)", valueName: "time"),
        transform: TimeSpan.parse)
    var latency = TimeSpan(seconds: 0)

    @Option(
        help: ArgumentHelp(
            """
            Simulate a line over which all icons together receive this much in a second: 500kB/s, \
            2MiB/s. What comes is held back; --limit-rate really slows the network, for manifests, \
            too.
            """, valueName: "size/s"),
        transform: ByteCount.perSecond)
    var bandwidth: ByteCount?

    func validate() throws {
        if cache == "" { throw ValidationError("--cache needs the name of a directory.") }
        if compare, strategy != nil {
            throw ValidationError("--compare and --strategy exclude each other.")
        }
        if cache != nil, let strategy, strategy != .sandbox {
            throw ValidationError("--cache is for the strategy sandbox.")
        }
        guard memoryLimit.bytes >= 1 << 10 else {
            throw ValidationError("--memory-limit must be at least 1KiB.")
        }
    }

    /// The strategies to rehearse with, one after another.
    var names: [StrategyName] { compare ? StrategyName.allCases : [strategy ?? .sandbox] }

    func apply(to options: inout RehearsalOptions) {
        options.memoryLimit = Int(memoryLimit.bytes)
        options.directory = cache.map { URL(fileURLWithPath: $0, isDirectory: true) }
    }
}

extension StrategyName: ExpressibleByArgument {}
