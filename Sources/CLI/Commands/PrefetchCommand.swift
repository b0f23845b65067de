import ArgumentParser
import Foundation
import LarderKit

struct PrefetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prefetch",
        abstract: "Download the icons of manifests into the cache.",
        discussion: """
            All manifests are read before the first request. Entries that are cached and fresh \
            cost nothing; the others are fetched by priority, then in the manifest's order. Stale icons are downloaded only if they changed.

            With --offline, nothing is downloaded: what is cached is reported, however stale it is, and the \
            status is 2 where something is not.
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Asking again") var revalidation: RevalidationOptions
    @OptionGroup(title: "Asking again") var failures: FailureOptions
    @OptionGroup var network: NetworkOptions
    @OptionGroup(title: "Other runs") var locks: LockOptions

    @Flag(help: "Download nothing: use what is cached, however stale, and fail the rest.")
    var offline = false

    @Option(
        help: ArgumentHelp(
            """
            Exit with status 0 if no more icons than this failed: a count, or a percentage of all, \
            such as 2.5%. (default: 0)
            """, valueName: "n|p%"),
        transform: FailureAllowance.parse)
    var maxFailures = FailureAllowance.none

    @Flag(help: "Store what its server forbids to store (no-store), too, as always stale.")
    var storeAnyway = false

    @Option(
        help: ArgumentHelp(
            """
            Write one JSON line for each icon to this file; - is standard output, and a summary that is \
            no JSON then goes to standard error.
            """, valueName: "file"))
    var report: String?

    @Option(
        help: ArgumentHelp(
            """
            Write a lock: a manifest of the same icons with the digest and the size of each, which gives the same \
            bytes or an error. Nothing is written where an icon failed. - is standard output, as for --report.
            """, valueName: "file"))
    var writeLock: String?

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    func validate() throws {
        // A variable that is not set, in a script.
        if report == "" { throw ValidationError("--report needs the name of a file.") }
        if writeLock == "" { throw ValidationError("--write-lock needs the name of a file.") }
        try validateLock()
        guard offline else { return }
        let contradictions = [
            ("--force", failures.force), ("--retry-failed", failures.retryFailed),
            ("--revalidate always", revalidation.revalidate == .always),
        ]
        if let (option, _) = contradictions.first(where: \.1) {
            throw ValidationError("--offline asks for nothing, and \(option) wants to ask.")
        }
    }

    private func validateLock() throws {
        guard let writeLock else { return }
        if failures.retryFailed {
            throw ValidationError("--write-lock would lack what --retry-failed leaves alone.")
        }
        if writeLock == "-", json {
            throw ValidationError("--write-lock - and --json both want standard output.")
        }
        guard let report else { return }
        func absolute(_ path: String) -> String {
            path == "-" ? path : URL(fileURLWithPath: path).standardizedFileURL.path
        }
        if absolute(report) == absolute(writeLock) {
            throw ValidationError("--write-lock and --report name the same file.")
        }
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: quiet, makesCache: true, recordedAs: .prefetch
        ) { run in
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.lockWait = run.wait
            configuration.manifestRules = try manifest.rules
            configuration.acceptsAnyContent = manifest.anyContent
            configuration.storesUnstorable = storeAnyway
            configuration.namesSuccesses = report != nil
            revalidation.apply(to: &configuration.policy)
            failures.apply(to: &configuration.policy)
            configuration.policy.isOffline = offline
            try network.apply(to: &configuration)
            let lock = try writeLock.map {
                try LockedManifest(path: $0, manifests: manifest.manifests, cache: cache)
            }
            configuration.onLocked = lock?.add

            let prefetcher = Prefetcher(configuration)
            let file = try report.map {
                try ReportFile(path: $0, manifests: manifest.manifests, cache: cache)
            }
            let line = ProgressLine(isQuiet: quiet)
            // With --quiet all that is wrong is said in one line, at the end.
            var notes: [String] = []
            var firstFailure: String?
            var unsupported = UnsupportedSchemes()
            var schemes: [String] = []
            let sources = try manifest.sources(configuration)
            for try await event in prefetcher.prefetch(sources) {
                switch event {
                case .recovered(let recovery):
                    if quiet {
                        notes.append(recovery.text)
                    } else {
                        Console.complain(recovery.text)
                    }
                case .planned(let summary):
                    ProgramText.release()
                    file?.begin()
                    // While manifests are read nothing is in flight, and a pipe may stay silent.
                    run.interrupts.ask("giving what is in flight 2 s to finish") {
                        prefetcher.cancel()
                    }
                    schemes = summary.unsupportedText
                    let complaints = summary.complaints(of: sources)
                    if quiet { notes += complaints } else { complaints.forEach(Console.complain) }
                    line.show("0/\(summary.missing + summary.stale)")
                case .entry(let result):
                    file?.add(result)
                    guard let complaint = result.complaint else { continue }
                    firstFailure = firstFailure ?? complaint
                    guard unsupported.isNew(result.problem?.code, result.problem?.message) else {
                        continue
                    }
                    if !quiet {
                        line.clear()
                        Console.complain(complaint)
                    }
                case .progress(let progress):
                    file?.flush()
                    line.show(progress.text)
                case .finished(let report):
                    file?.begin()
                    file?.flush()
                    line.clear()
                    run.note(report.counts)
                    if json {
                        print(report.json)
                    } else if !quiet {
                        let text = report.text(unsupported: schemes)
                        if [self.report, writeLock].contains("-") {
                            Console.write(text + "\n")
                        } else {
                            print(text)
                        }
                    }
                    if report.isLocked { try lock?.commit() }
                    if let failure = file?.failure, !report.isInterrupted { throw failure }
                    if let complaint = complaint(report, firstFailure) { notes.append(complaint) }
                    let lacksLock = lock != nil && !report.isLocked
                    if let writeLock, lacksLock { notes.append(unwritten(writeLock, report)) }
                    if !notes.isEmpty { Console.complain(notes.joined(separator: "; ")) }
                    try ExitStatus(
                        report, interruption: run.interrupts.status,
                        allowance: lacksLock ? .none : maxFailures
                    ).exit()
                }
            }
        }
    }

    /// A lock that lacks entries would be taken for one of all of them.
    private func unwritten(_ lock: String, _ report: Report) -> String {
        let lacking = report.count(.failed) + report.count(.unfinished)
        let reason =
            lacking > 0
            ? "it would lack \(lacking) of \(report.icons) icons" : "the run was not finished"
        return "--write-lock '\(lock)': not written, for \(reason)"
    }

    /// What is wrong with a run, as far as the summary and the complaints about entries have not said it.
    private func complaint(_ report: Report, _ firstFailure: String?) -> String? {
        let all = "\(report.icons) \(report.icons > report.entries ? "icons" : "entries")"
        if quiet, report.isInterrupted {
            return
                "interrupted: \(report.count(.unfinished)) of \(all) unfinished"
        }
        if quiet, let failure = report.failure { return "\(failure)" }
        let failed = report.count(.failed)
        guard !report.isInterrupted, report.failure == nil,
            !maxFailures.covers(failed, of: report.icons), quiet || maxFailures != .none
        else { return nil }
        var text = "\(failed) of \(all) failed"
        if maxFailures != .none { text += ", more than --max-failures \(maxFailures) allows" }
        if quiet, let firstFailure { text += "; the first: \(firstFailure)" }
        return text
    }
}
