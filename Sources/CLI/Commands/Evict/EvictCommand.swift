import ArgumentParser
import LarderCache
import LarderCore

struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Keep the cache within bounds: remove the least recently used objects.",
        discussion: """
            Removes what crashes left behind, then the least recently used objects until every \
            limit is met. It never removes pinned icons, icons in a --keep manifest, or what a \
            running prefetch has stored; if these alone exceed a limit, the exit status is 2. \
            Other processes may use the cache meanwhile. If you give no limit, only leftovers \
            are removed.

            EXAMPLES:
              # Keep the cache below 2 GB, and all icons of a manifest in it.
              larder evict --max-size 2GB --keep apps.json
              # Show which objects were not used for 30 days.
              larder evict --max-age 30d --dry-run
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    // Unconditional, so that -1 is a bad value and no unknown option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Evict until objects take no more than this: 500MB, 2GiB, or 0.", valueName: "size"),
        transform: ByteCount.parse)
    var maxSize: ByteCount?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Evict objects this old or older: 12h, 30d.", valueName: "time"),
        transform: TimeSpan.parse)
    var maxAge: TimeSpan?

    @Option(
        help: ArgumentHelp(
            """
            Measure age since the last use, or since the bytes were fetched. The oldest objects \
            are removed first. (default: used)
            """, valueName: EvictionOrder.all.map(\.name).joined(separator: "|")))
    var by: EvictionOrder?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp("Evict until no more than this many objects are left.", valueName: "n"))
    var maxCount: Int?

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Evict until this much is free on the cache's file system: 500MB, 2GiB.",
            valueName: "size"),
        transform: ByteCount.parse)
    var minFree: ByteCount?

    @Option(
        help: ArgumentHelp(
            """
            Never evict what this manifest names. It is a file, a URL that was prefetched, or - \
            for standard input. May be repeated.
            """, valueName: "manifest"), completion: .manifest)
    var keep: [String] = []

    @Option(
        help: ArgumentHelp(
            "Evict what this manifest does not name. If repeated, evict what none of them names.",
            valueName: "manifest"),
        completion: .manifest)
    var only: [String] = []

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Keep orphans, partial downloads and quarantined files younger than this; 0 keeps none. \
            (default: 1h)
            """, valueName: "time"), transform: TimeSpan.parse)
    var grace: TimeSpan?

    @Flag(
        help: """
            Print what would be evicted, one object per line, and remove nothing. With --json, the \
            report comes last.
            """)
    var dryRun = false

    func validate() throws {
        try LocalManifests.validateStandardInput(keep + only)
        if let maxCount, maxCount < 0 { throw ValidationError("--max-count must be at least 0.") }
        if by != nil, maxSize == nil, maxAge == nil, maxCount == nil, minFree == nil {
            throw ValidationError("--by needs --max-size, --max-age, --max-count or --min-free.")
        }
        _ = try policy(for: nil)
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: output.quiet, recordedAs: dryRun ? nil : .evict
        ) { run in
            let cache = try cache.open(wait: run.wait, makingRoom: !dryRun)
            var policy = try policy(for: cache)
            policy.isCancelled = { run.interrupts.isAsked }
            ProgramText.release()
            let printsVictims = dryRun && (output.json || !output.quiet)
            if let minFree, let size = try cache?.fileSystemBytes, minFree.bytes > size {
                throw ValidationError(
                    "--min-free: the cache's file system has no more than \(size) bytes in all.")
            }
            let report =
                try cache?.evict(
                    policy,
                    onVictim: { if printsVictims { print(output.json ? $0.json : $0.text) } },
                    onProgress: { if !printsVictims { run.line.show($0.text("evicted")) } }
                ) ?? EvictionReport(isDryRun: dryRun)
            run.line.clear()
            run.note(report.counts)
            let failure = report.isInterrupted ? nil : report.failure
            output.write(
                json: report.json, text: report.text(colors.output),
                complaint: failure == nil ? report.complaint : nil)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if let failure { throw failure }
            if !report.missed.isEmpty { try ExitStatus.someFailed.exit() }
        }
    }

    private func policy(for cache: Cache?) throws -> EvictionPolicy {
        let rules = try reading.rules()
        var policy = EvictionPolicy()
        policy.maximumBytes = maxSize?.bytes
        policy.maximumObjects = maxCount
        policy.maximumAge = maxAge?.seconds
        policy.minimumFree = minFree?.bytes
        policy.order = by ?? .used
        if !keep.isEmpty {
            policy.keep = try LocalManifests(keep, rules: rules, cache: cache).forEachKey
        }
        if !only.isEmpty {
            policy.only = try LocalManifests(only, rules: rules, cache: cache).forEachKeyOfAll
        }
        if let grace { policy.grace = grace.seconds }
        policy.isDryRun = dryRun
        return policy
    }
}

extension EvictionOrder: ExpressibleByArgument {
    /// The order of that name; nil if there is none.
    public init?(argument: String) {
        guard let order = Self.all.first(where: { $0.name.isSame(as: argument) }) else {
            return nil
        }
        self = order
    }

    /// The names of all orders.
    public static var allValueStrings: [String] { all.map(\.name) }
}
