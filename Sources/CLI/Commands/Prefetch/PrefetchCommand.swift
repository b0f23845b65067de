import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderPrefetch
import Synchronization

struct PrefetchCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "prefetch", _superCommandName: "larder",
        abstract: "Download the icons in manifests to the cache.",
        discussion: """
            All manifests are read before the first request. Icons that are cached and fresh are \
            not requested. Missing and stale icons are requested by priority. Each host's icons \
            are requested in the order of the manifest. Stale icons are downloaded only if they \
            have changed.

            With --offline, nothing is downloaded, and the exit status is 2 if an icon is not \
            cached. A read-only cache is then checked without writing to it.

            EXAMPLES:
              # Fill the default cache.
              larder prefetch apps.plist
              # Read a manifest from the network, and report one line per icon.
              larder prefetch https://example.com/apps.json --report report.jsonl
              # Read a manifest in an unknown format.
              larder prefetch top.json --entries feed.list --icon-key art.big
              # Write a lock file. A prefetch of this file gets the same bytes or fails.
              larder prefetch apps.json --write-lock apps.lock.json
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Revalidation and failures") var revalidation: RevalidationOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Requests") var requests: RequestOptions
    @OptionGroup(title: "Connections") var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: "Download nothing. Cached icons are used even if stale. Missing icons fail.")
    var offline = false

    @Flag(help: .rare("Do not store icons in the remote.")) var remoteReadOnly = false

    @Option(
        help: .rare(
            "With --shard, treat icons as fresh if they were stored or confirmed in the remote "
                + "within this time, for example 24h. (default: as specified by their servers)",
            "time"), transform: TimeSpan.parse)
    var remoteFreshFor: Duration?

    @Option(
        help: .rare(
            "Exit with status 0 if at most this number or percentage of icons failed, for example "
                + "20 or 2.5%. (default: 0)", "n|p%"), transform: FailureAllowance.parse)
    var maxFailures = FailureAllowance.none

    @Flag(
        help: .rare(
            "Also store icons whose servers forbid storing (no-store). They are always stale."))
    var storeAnyway = false

    @Option(
        help: .common(
            "Write one JSON line for each icon to this file. With -, write them to standard "
                + "output, and the summary to standard error.", "file"), completion: .file())
    var report: String?

    @Option(
        help: .common(
            "Write a lock file: a manifest of the same icons with their digests and sizes. A "
                + "prefetch of this lock file gets the same bytes or fails. If an icon failed, no "
                + "lock file is written. With -, write it to standard output.", "file"),
        completion: .file())
    var writeLock: String?

    @Flag(
        name: .shortAndLong,
        help: .rare("On a terminal, print every failure, not only the first five of each kind."))
    var verbose = false

    func validate() throws {
        try refuse(if: output.quiet && verbose, "--quiet and --verbose cannot be combined.")
        if report == "" { throw ValidationError("--report needs the name of a file.") }
        if writeLock == "" { throw ValidationError("--write-lock needs the name of a file.") }
        let isShard = manifest.shardName != nil
        if let writeLock {
            try refuse(
                if: revalidation.retryFailed,
                "--write-lock cannot be combined with --retry-failed.")
            try refuse(if: isShard, "--write-lock cannot be combined with --shard.")
            try refuse(
                if: writeLock == "-" && output.json,
                "--write-lock - and --json cannot be combined, because both use standard output.")
            func absolute(_ path: String) -> String {
                path == "-" ? path : URL(fileURLWithPath: path).standardizedFileURL.path
            }
            try refuse(
                if: report.map(absolute) == absolute(writeLock),
                "--write-lock and --report cannot be combined, because they name the same file.")
        }
        try refuse(if: remoteReadOnly && remote.remote == nil, "--remote-read-only needs --remote.")
        try refuse(
            if: remoteReadOnly && isShard, "--remote-read-only and --shard cannot be combined.")
        try refuse(
            if: remoteFreshFor != nil && (remote.remote == nil || !isShard),
            "--remote-fresh-for needs --remote and --shard.")
        try manifest.validate(perHost: requests.maxPerHost)
        guard offline else { return }
        for (option, isUsed) in [
            ("--force", revalidation.force), ("--retry-gone", revalidation.retryGone),
            ("--retry-failed", revalidation.retryFailed),
            ("--revalidate always", revalidation.revalidate == .always),
            ("--remote", remote.remote != nil),
        ] where isUsed { throw ValidationError("--offline cannot be combined with \(option).") }
    }

    func run() async throws {
        // An offline run on a read-only cache needs no lock, and cannot create the lock file.
        let needsLock = !offline || !Cache.isUnwritable(at: cache.path)
        try await CacheRun.of(
            self, needsLock: needsLock, makesCache: true, recordedAs: .prefetch
        ) { run in
            let lock = try writeLock.map {
                try LockedManifest(path: $0, manifests: manifest.manifests, cache: cache)
            }
            let file = try report.map {
                try ReportFile(path: $0, manifests: manifest.manifests, cache: cache)
            }
            var configuration = try prefetchConfiguration(reading.rules())
            configuration.acceptsAnyContent = manifest.anyContent
            configuration.storesUnstorable = storeAnyway
            configuration.namesSuccesses = report != nil
            revalidation.apply(to: &configuration.policy)
            configuration.policy.isOffline = offline
            configuration.shard = try manifest.shard
            configuration.remote = try remote.remote(
                manifest.shardName != nil ? .fill : remoteReadOnly ? .read : .mirror)
            configuration.remote?.freshFor = remoteFreshFor
            configuration.lockWait = run.wait
            configuration.onLocked = lock?.add
            let sources = try manifest.sources()
            var console = PrefetchConsole(
                purpose: .prefetch, output: output, isVerbose: verbose,
                hasReport: report != nil, isOutputTaken: [report, writeLock].contains("-"),
                allowance: maxFailures, colors: colors)
            let report = try await run.prefetch(sources, configuration, &console) { file?.take($0) }
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
}

extension CacheRun {
    /// If `isPart`, prints the summary as a message, because the command prints its results later.
    func carry(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration,
        _ command: some ReportingCommand, _ purpose: PrefetchConsole.Purpose, isPart: Bool = false
    ) async throws -> ExitStatus {
        var configuration = configuration
        configuration.namesSuccesses = false
        configuration.lockWait = wait
        var output = command.output
        if isPart { output.json = false }
        var console = PrefetchConsole(
            purpose: purpose, output: output, isOutputTaken: isPart, colors: command.colors)
        let report = try await prefetch(sources, configuration, &console)
        console.conclude(report, unwritten: nil)
        return ExitStatus(report, interruption: interrupts.status, allowance: .none)
    }

    func prefetch(
        _ sources: [ManifestSource], _ configuration: PrefetchConfiguration,
        _ console: inout PrefetchConsole, onEvent: (PrefetchEvent) -> Void = { _ in }
    ) async throws -> Report {
        let prefetcher = Prefetcher(configuration)
        let events = prefetcher.prefetch(sources) { [interrupts] in
            // Until this call, a signal ends the process, because reading a pipe may block forever.
            interrupts.ask("transfers in flight have 2 s to finish") { prefetcher.cancel() }
        }
        var last = Report.interrupted
        for try await event in events {
            onEvent(event)
            console.say(event, of: sources)
            switch event {
            case .planned(let plan) where plan.missing + plan.stale > 0: ProcessMemory.releaseText()
            case .finished(let report): last = report
            default: break
            }
        }
        var counts: [RunRecord.Count: Int64] = [
            .entries: Int64(last.entries), .receivedBytes: last.receivedBytes,
            .pushed: Int64(last.remote?.pushed ?? 0), .unpushed: Int64(last.remote?.unpushed ?? 0),
        ]
        for outcome in EntryResult.Outcome.allCases {
            if let name = RunRecord.Count(rawValue: outcome.rawValue) {
                counts[name] = Int64(last.count(outcome))
            }
        }
        note(counts)
        return last
    }
}

/// The `--report` file. If a write fails, the run continues and fails at the end.
final class ReportFile {
    private let path: String
    private let mode: mode_t
    private let file: FileDescriptor?
    private var buffer = Data()
    private var isBegun = false
    private(set) var failure: CacheError?

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        self.path = path
        mode = 0o644 & ~Self.umask()
        if path != "-" {
            try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--report")
        }
        file = try path == "-" ? nil : OutputFile.open(path, flags: O_WRONLY, mode: 0o644)
    }

    func take(_ event: PrefetchEvent) {
        switch event {
        case .recovered, .planning: return
        case .progress: break
        case .planned, .finished: begin()
        case .entry(let result):
            begin()
            if failure == nil { buffer.append(contentsOf: "\(result.json.text)\n".utf8) }
            if buffer.count < 64 * 1024 { return }
        }
        flush()
    }

    /// Truncates the file. The previous report is kept until all manifests have been read.
    private func begin() {
        guard !isBegun, failure == nil, let file else { return }
        isBegun = true
        guard let status = try? file.status(), status.isRegularFile else { return }
        // Removes permissions that a new file would not have.
        if status.st_uid == geteuid() { fchmod(file.raw, status.st_mode & mode) }
        if ftruncate(file.raw, 0) != 0 {
            failure = CacheError("truncate", subject: path, errno: errno).ofOutput
        }
    }

    /// Must be called before threads create files: umask(2) reads the mask by changing it.
    private static func umask() -> mode_t {
        let mask = Foundation.umask(0o077)
        _ = Foundation.umask(mask)
        return mask
    }

    private func flush() {
        guard !buffer.isEmpty, failure == nil else { return }
        let number = buffer.withUnsafeBytes {
            StandardStreams.send($0, to: file?.raw ?? STDOUT_FILENO, patience: -1).failure
        }
        failure = number.map {
            file == nil
                ? CacheError.ofStandardOutput($0)
                : CacheError("write", subject: path, errno: $0).ofOutput
        }
        buffer.removeAll(keepingCapacity: true)
    }
}

final class LockedManifest: Sendable {
    private let file: OutputReplacement?
    private let isEmpty = Atomic(true)

    init(path: String, manifests: [String], cache: CacheOptions) throws {
        file = path == "-" ? nil : OutputReplacement(path)
        guard let file else { return }
        try OutputFile.confirm(path, isNoneOf: manifests, orIn: cache.path, for: "--write-lock")
        try file.check()
    }

    func add(_ entry: String) {
        let isFirst = isEmpty.exchange(false, ordering: .relaxed)
        write((isFirst ? "[\n" : ",\n") + entry)
    }

    func commit() throws {
        write(isEmpty.load(ordering: .relaxed) ? "[]\n" : "\n]\n")
        try file?.commit()
    }

    private func write(_ text: String) {
        if let file { file.add(text.utf8) } else { print(text, terminator: "") }
    }
}
