import ArgumentParser
import Foundation
import LarderManifest
import LarderPrefetch

struct PrefetchCommand: AsyncParsableCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "prefetch", abstract: "Download the icons of manifests into the cache.",
        discussion: """
            All manifests are read before the first request. Entries that are cached and fresh \
            cost nothing; the others are fetched by priority, then in the manifest's order. Stale \
            icons are downloaded only if they changed.

            With --offline, nothing is downloaded, and the status is 2 if something is not cached.

            EXAMPLES:
              # Fill the default cache.
              larder prefetch apps.plist
              # Read a list of apps from the network, and write one line for each icon.
              larder prefetch https://example.com/apps.json --report report.jsonl
              # Read a manifest of a shape that is not recognised.
              larder prefetch top.json --entries feed.list --icon-key art.big
              # Get the same bytes everywhere, or an error.
              larder prefetch apps.json --write-lock apps.lock.json
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Revalidation and failures") var revalidation: RevalidationOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Limits and retries") var transfer: TransferOptions
    @OptionGroup(title: "Connections") var connections: ConnectionOptions
    @OptionGroup(title: "Addresses") var addresses: AddressOptions
    @OptionGroup(title: "Credentials", visibility: .rare) var credentials: CredentialOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions
    @OptionGroup(title: "Several workers") var workers: ShardOptions

    @Flag(help: "Download nothing: use what is cached, however stale, and fail the rest.")
    var offline = false

    @Flag(help: .rare("Store nothing in the remote.")) var remoteReadOnly = false

    @Option(
        help: .rare(
            """
            With --shard, take what was stored in the remote or confirmed less than this ago as \
            fresh: 24h. Its listing tells that; whatever its server said of it is not read. \
            (default: as its server said)
            """, "time"), transform: TimeSpan.parse)
    var remoteFreshFor: TimeSpan?

    @Option(
        help: .rare(
            """
            Exit with status 0 if at most this many icons failed: a count, or a percentage of all, \
            such as 2.5%. (default: 0)
            """, "n|p%"), transform: FailureAllowance.parse)
    var maxFailures = FailureAllowance.none

    @Flag(
        help: .rare(
            "Also store icons that servers forbid storing (no-store); they are always stale."))
    var storeAnyway = false

    @Option(
        help: ArgumentHelp(
            """
            Write one JSON line for each icon to this file. With - it goes to standard output, and \
            the text summary to standard error.
            """, valueName: "file"), completion: .file())
    var report: String?

    @Option(
        help: ArgumentHelp(
            """
            Write a lock: a manifest of the same icons with their digests and sizes, so that a \
            prefetch of it gets the same bytes or an error. Nothing is written if an icon failed. \
            With - it goes to standard output, as with --report.
            """, valueName: "file"), completion: .file())
    var writeLock: String?

    @Flag(
        name: .shortAndLong,
        help: .rare(
            "On a terminal, print every failure, as elsewhere, not just a few of each kind."))
    var verbose = false

    func validate() throws {
        if output.quiet, verbose {
            throw ValidationError("--quiet and --verbose exclude each other.")
        }
        // A script's variable may be unset.
        if report == "" { throw ValidationError("--report needs the name of a file.") }
        if writeLock == "" { throw ValidationError("--write-lock needs the name of a file.") }
        try validateLock()
        if remoteReadOnly, remote.remote == nil {
            throw ValidationError("--remote-read-only needs --remote.")
        }
        if remoteReadOnly, try workers.shard != nil {
            throw ValidationError("--remote-read-only and --shard exclude each other.")
        }
        if remoteFreshFor != nil, try remote.remote == nil || workers.shard == nil {
            throw ValidationError("--remote-fresh-for needs --remote and --shard.")
        }
        try workers.validate(perHost: transfer.maxPerHost)
        guard offline else { return }
        let contradictions = [
            ("--force", revalidation.force), ("--retry-failed", revalidation.retryFailed),
            ("--revalidate always", revalidation.revalidate == .always),
            ("--remote", remote.remote != nil),
        ]
        if let (option, _) = contradictions.first(where: \.1) {
            throw ValidationError("--offline cannot be combined with \(option).")
        }
    }

    private func validateLock() throws {
        guard let writeLock else { return }
        if revalidation.retryFailed {
            throw ValidationError("--write-lock would lack what --retry-failed leaves alone.")
        }
        if workers.name != nil {
            throw ValidationError("--write-lock would lack what --shard leaves to other workers.")
        }
        if writeLock == "-", output.json {
            throw ValidationError("--write-lock - and --json both want standard output.")
        }
        func absolute(_ path: String) -> String {
            path == "-" ? path : URL(fileURLWithPath: path).standardizedFileURL.path
        }
        if let report, absolute(report) == absolute(writeLock) {
            throw ValidationError("--write-lock and --report name the same file.")
        }
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: output.quiet, makesCache: true,
            recordedAs: .prefetch
        ) { run in
            let lock = try writeLock.map {
                try LockedManifest(path: $0, manifests: manifest.manifests, cache: cache)
            }
            let file = try report.map {
                try ReportFile(path: $0, manifests: manifest.manifests, cache: cache)
            }
            var configuration = try configuration()
            configuration.lockWait = run.wait
            configuration.onLocked = lock?.add
            let sources = try manifest.sources()
            var console = PrefetchConsole(
                purpose: .prefetch, output: output, isVerbose: verbose,
                hasReport: report != nil, isOutputTaken: [report, writeLock].contains("-"),
                allowance: maxFailures, colors: colors, line: run.line)
            let report = try await run.prefetch(sources, configuration, &console) { file?.take($0) }
            run.note(report.counts)
            if report.isLocked { try lock?.commit() }
            if let failure = file?.failure, !report.isInterrupted { throw failure }
            let unwritten = report.isLocked ? nil : writeLock
            console.conclude(report, unwritten: unwritten)
            try ExitStatus(
                report, interruption: run.interrupts.status,
                allowance: unwritten == nil ? maxFailures : .none
            ).exit()
        }
    }

    private func use() throws -> Remote.Use {
        if try workers.shard != nil { return .fill }
        return remoteReadOnly ? .read : .mirror
    }

    private func configuration() throws -> PrefetchConfiguration {
        var configuration = PrefetchConfiguration(cache: cache.path)
        configuration.logger = Log.logger("larder.prefetch")
        configuration.manifestRules = try reading.rules()
        configuration.acceptsAnyContent = manifest.anyContent
        configuration.storesUnstorable = storeAnyway
        configuration.namesSuccesses = report != nil
        revalidation.apply(to: &configuration.policy)
        configuration.policy.isOffline = offline
        configuration.shard = try workers.shard
        configuration.remote = try remote.remote(use())
        configuration.remote?.freshFor = remoteFreshFor?.duration
        try applyNetwork(to: &configuration)
        return configuration
    }
}

extension CacheRun {
    func prefetch(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration,
        _ console: inout PrefetchConsole, onEvent: (PrefetchEvent) -> Void = { _ in }
    ) async throws -> Report {
        try ProcessLimits.requireTransfers()
        let prefetcher = Prefetcher(configuration)
        var last = Report.interrupted
        for try await event in prefetcher.prefetch(sources) {
            onEvent(event)
            console.say(event, of: sources)
            switch event {
            case .planned:
                ProgramText.release()
                // Not while manifests are read: nothing is in flight, and a pipe may stay silent.
                interrupts.ask("giving what is in flight 2 s to finish") { prefetcher.cancel() }
            case .finished(let report): last = report
            case .recovered, .planning, .entry, .progress: break
            }
        }
        return last
    }
}
