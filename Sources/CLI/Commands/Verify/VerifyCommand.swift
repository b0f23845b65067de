import ArgumentParser
import Foundation
import LarderCache
import LarderManifest
import LarderPrefetch

struct VerifyCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every object again, and check the index.",
        discussion: """
            Nothing is changed without --repair. The exit status is 0 if every object in the index \
            is whole, and 2 if not. Orphans, leftovers in tmp/, foreign files and wrong \
            permissions are reported, but are not corruption.

            With --repair, damaged objects are moved to quarantine/ and downloaded again. The exit \
            status is 0 if all were repaired. If a download fails, the icon is not served, and the \
            next repair or prefetch downloads it. With --manifest, downloads must match the \
            digests and sizes in the manifest. Icons that are not cached are not downloaded: use \
            larder prefetch.

            EXAMPLES:
              # Read every object again.
              larder verify
              # Download damaged icons again.
              larder verify --repair
              # Check that all icons in a manifest are cached.
              larder verify --manifest apps.plist
              # Verify for at most 30 minutes. The next run continues.
              larder verify --max-duration 30m
            """)

    @OptionGroup var options: RunOptions
    @OptionGroup(title: "What to verify") var part: VerifyPartOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Limits and retries", visibility: .rare) var transfer: TransferOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Addresses", visibility: .rare) var addresses: AddressOptions
    @OptionGroup(title: "Credentials", visibility: .rare) var credentials: CredentialOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: "Move damaged objects to quarantine/ and download them again.") var repair = false

    func validate() throws {
        if reading.entry.baseURL != nil, part.manifests.isEmpty {
            throw ValidationError("--base-url needs --manifest.")
        }
    }

    func run() async throws {
        try await CacheRun.of(self, recordedAs: .verify) { run in
            if repair { try HelperThread.requireForTransfers() }
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.lockWait = run.wait
            configuration.manifestRules = try reading.rules()
            try applyNetwork(to: &configuration)
            let verification = CacheVerification(configuration)
            let cache = try cache.openDamaged(wait: run.wait, isForRepair: repair)
            var options = part.options
            options.isCancelled = { run.interrupts.isAsked }
            ProcessMemory.releaseText()
            var report = try verification.verify(
                cache, manifests: try part.manifests.map(ManifestOptions.source),
                options: options
            ) { run.line.show($0.text) }
            run.line.clear()
            if !part.manifests.isEmpty, report.entries == 0, !output.quiet {
                LocalManifests.complainOfNoEntries(part.manifests, "nothing was verified")
            }
            var failure: (any Error)?
            if repair, !report.findings.isEmpty, !report.isInterrupted, report.failure == nil {
                do {
                    try await verification.repair(
                        &report, of: cache, isCancelled: { run.interrupts.isAsked }
                    ) { run.line.show($0.text) }
                } catch {
                    failure = error
                }
                for place in report.refetches.indices {
                    report.refetches[place].missingOptions =
                        report.refetches[place].problem.flatMap {
                            missingOptions(for: $0.code, $0.message)
                        }
                }
                run.line.clear()
            }
            run.note(report.counts)
            if output.json {
                try report.writeJSON { print($0, terminator: "") }
            } else if !output.quiet {
                try report.writeText(colors.output) { print($0, terminator: "") }
            }
            // If the index is damaged, it is already among the findings.
            if let failure, !report.isInterrupted, (failure as? CacheError)?.code != .damaged {
                throw failure
            }
            if let failure = report.failure, !report.isInterrupted { throw failure }
            if output.quiet {
                if let complaint = report.complaint { Console.complain(complaint) }
            } else if let failure {
                Console.complain("repair failed: \(failure)")
            }
            if report.isInterrupted { try run.interrupts.status.exit() }
            if !report.isSound { try ExitStatus.someFailed.exit() }
        }
    }
}

struct VerifyPartOptions: ParsableArguments {
    @Option(
        help: .common("Verify a random part of the cache (5%), or part 3 of 10 (3/10).", "p%|n/m"),
        transform: Self.selection)
    var sample: VerifySelection?

    @Option(help: .rare("The seed of the random part. The same seed gives the same part.", "n"))
    var seed: UInt64?

    @Option(
        help: .common(
            "Stop after this time. The next run with --max-duration verifies the rest.", "time"),
        transform: TimeSpan.parseAboveZero)
    var maxDuration: TimeSpan?

    @Option(
        name: .customLong("manifest"),
        help: .common(
            "Verify only the icons in this manifest, and report uncached icons. May be repeated.",
            "manifest"), completion: .manifest)
    var manifests: [String] = []

    @Flag(help: "Compare file sizes with the index, and read only files whose size differs.")
    var quick = false

    /// Parses a random share (`5%`), whose seed is set later, or one of several parts (`3/10`).
    private static func selection(_ argument: String) throws -> VerifySelection {
        if let percent = Quantity.percent(argument), percent > 0 {
            return .share(NSDecimalNumber(decimal: percent).doubleValue / 100, seed: 0)
        }
        let parts = argument.split(separator: "/", omittingEmptySubsequences: false)
        if parts.count == 2, parts.allSatisfy(\.isDigits), let number = Int(parts[0]),
            let count = Int(parts[1]), count <= 1_000_000, 0 < number, number <= count
        {
            return .part(number, of: count)
        }
        throw ValidationError("expected a percentage above 0, such as 5%, or a part, such as 3/10")
    }

    func validate() throws {
        let isRandom = if case .share? = sample { true } else { false }
        try refuse(if: seed != nil && !isRandom, "--seed needs --sample with a percentage.")
        if !manifests.isEmpty, sample != nil || maxDuration != nil {
            throw ValidationError("--manifest cannot be combined with --sample or --max-duration.")
        }
        if maxDuration != nil, isRandom {
            throw ValidationError(
                "--max-duration cannot be combined with a percentage for --sample, only with n/m.")
        }
        try LocalManifests.validateStandardInput(manifests)
    }

    var options: VerifyOptions {
        var options = VerifyOptions()
        options.isQuick = quick
        options.maximumDuration = maxDuration?.duration
        options.selection = sample ?? .all
        if case .share(let share, seed: _)? = sample {
            options.selection = .share(share, seed: seed ?? UInt64.random(in: .min ... .max))
        }
        return options
    }
}
