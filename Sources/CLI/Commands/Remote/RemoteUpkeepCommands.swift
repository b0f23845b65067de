import ArgumentParser
import LarderPrefetch

struct RemoteVerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every object in a remote again, and check the references.",
        discussion: """
            Nothing is changed without --repair. The exit status is 2 if damaged objects, or \
            references to missing objects, remain.

            With --repair, damaged and missing objects are restored from the cache. If the cache \
            does not have an object, the object and its references are removed, so that the next \
            prefetch downloads it again.

            EXAMPLES:
              # Read every object.
              larder remote verify --remote s3://icons/shared
              # Restore damaged objects from the cache.
              larder remote verify --remote s3://icons/shared --repair
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: "Restore damaged objects from the cache, or remove them.") var repair = false

    func validate() throws { try remote.requireOption() }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: output.quiet) { run in
            let transfer = try connections.configuration()
            let cache = repair ? try cache.open(wait: run.wait) : nil
            var verifier = RemoteVerifier(try remote.remote(.only)!, transfer: transfer)
            verifier.shard = try part.shard
            let report = try await run.upkeep { [verifier, line = run.line] in
                try await verifier.verify(repairingFrom: cache) { line.show($0.progress) }
            }
            output.write(
                json: report.json,
                text: report.text(
                    colors.output, isPart: verifier.shard != nil, isRepair: cache != nil),
                complaint: report.isSound || report.isInterrupted ? nil : report.complaint)
            if report.isInterrupted { try run.interrupts.status.exit() }
            if !report.isSound { try ExitStatus.someFailed.exit() }
        }
    }
}

struct RemoteEvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict", abstract: "Remove old icons from a remote.",
        discussion: """
            Removes references that were not renewed for --max-age, then objects without a \
            reference. Other machines may use the remote at the same time.

            EXAMPLES:
              # Remove icons that no prefetch has confirmed for 90 days.
              larder remote evict --remote s3://icons/shared --max-age 90d
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    // Makes -1 an invalid value instead of an unknown option.
    @Option(
        parsing: .unconditional,
        help: .common("Remove references not renewed within this time, such as 30d.", "time"),
        transform: TimeSpan.parse)
    var maxAge: TimeSpan

    @Option(
        parsing: .unconditional,
        help: .common(
            "Keep objects without a reference that are younger than this. (default: 24h)", "time"),
        transform: TimeSpan.parse)
    var grace: TimeSpan?

    @Flag(
        name: [.customShort("n"), .long], help: "Print what would be removed, and remove nothing.")
    var dryRun = false

    func validate() throws { try remote.requireOption() }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: output.quiet) { run in
            var policy = RemoteEvictor.Policy(maximumAge: maxAge.seconds)
            if let grace { policy.grace = grace.seconds }
            policy.isDryRun = dryRun
            policy.shard = try part.shard
            let evictor = RemoteEvictor(
                try remote.remote(.only)!, transfer: try connections.configuration())
            let report = try await run.upkeep { [policy, line = run.line] in
                try await evictor.evict(policy) { line.show($0.progress) }
            }
            output.write(
                json: report.json, text: report.text(isPart: policy.shard != nil), complaint: nil)
            if report.isInterrupted { try run.interrupts.status.exit() }
        }
    }
}
