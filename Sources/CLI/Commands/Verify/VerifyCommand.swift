import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderPrefetch

struct VerifyCommand: ReportingCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify", _superCommandName: "larder",
        abstract: "Read every object again, and check the index.",
        discussion: """
            Nothing is changed without --repair. The exit status is 0 if every object in the index \
            is whole, and 2 if not. Orphans, leftovers in tmp/, foreign files and wrong \
            permissions are reported, but are not corruption.

            With --repair, damaged objects are moved to quarantine/ and downloaded again. The exit \
            status is 0 if all of them were repaired. If a download fails, the icon is not served, \
            and the next repair or prefetch downloads it. With --manifest, downloads must match \
            the digests and sizes in the manifest. Icons that are not cached are not downloaded: \
            use larder prefetch.

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
    @OptionGroup(title: "Requests", visibility: .rare) var requests: RequestOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: "Move damaged objects to quarantine/ and download them again.") var repair = false

    func validate() throws {
        try refuse(
            if: reading.entry.baseURL != nil && part.manifests.isEmpty,
            "--base-url needs --manifest.")
    }

    func run() async throws {
        try await CacheRun.of(self, recordedAs: .verify) { run in
            if repair { try HelperThread.require() }
            var configuration = try prefetchConfiguration(reading.rules())
            configuration.lockWait = run.wait
            let verification = CacheVerification(configuration)
            let cache = try cache.openDamaged(wait: run.wait, isForRepair: repair)
            var options = VerifyOptions()
            options.isQuick = part.quick
            options.maximumDuration = part.maxDuration
            options.selection = part.sample ?? .all
            if case .share(let share, seed: _)? = part.sample {
                let seed = part.seed ?? UInt64.random(in: .min ... .max)
                options.selection = .share(share, seed: seed)
            }
            options.isCancelled = { run.interrupts.isAsked }
            var report = try verification.verify(
                cache, manifests: try part.manifests.map(ManifestOptions.source), options: options
            ) { run.line.show($0.text) }
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
                for (place, refetch) in report.refetches.enumerated() {
                    report.refetches[place].missingOptions = refetch.problem.flatMap {
                        missingOptions(for: $0.code, $0.message)
                    }
                }
            }
            run.line.clear()
            let entries = report.entryFindings.count
            run.note([
                .objects: Int64(report.objects), .bytes: report.bytes, .whole: Int64(report.whole),
                .findings: Int64(report.findings.count + entries),
                .damaged: Int64(report.findings.count(where: \.kind.isCorruption) + entries),
                .repaired: Int64(report.repaired),
            ])
            if output.json {
                try report.printJSON()
            } else if !output.quiet {
                try report.printText(colors.output)
            }
            // Damage to the index is already among the findings.
            if let failure, !report.isInterrupted, (failure as? CacheError)?.code != .damaged {
                throw failure
            }
            if let failure = report.failure, !report.isInterrupted { throw failure }
            let problem = failure.map { "repair failed: \($0)" }
            if let complaint = output.quiet ? report.complaint : problem {
                Console.complain(complaint)
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
    var maxDuration: Duration?

    @Option(
        name: .customLong("manifest"),
        help: .common(
            "Verify only the icons in this manifest, and report uncached icons. May be repeated.",
            "manifest"), completion: .manifest)
    var manifests: [String] = []

    @Flag(help: "Compare file sizes with the index, and read only files whose size differs.")
    var quick = false

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
        try refuse(
            if: !manifests.isEmpty && (sample != nil || maxDuration != nil),
            "--manifest cannot be combined with --sample or --max-duration.")
        try refuse(
            if: maxDuration != nil && isRandom,
            "--max-duration cannot be combined with a percentage for --sample, only with n/m.")
        try LocalManifests.validateStandardInput(manifests)
    }
}

extension VerifyReport {
    /// Prints one finding at a time, because there may be a million.
    func printText(_ paint: Paint) throws {
        for finding in findings { print(finding.text(paint)) }
        try entryFindings.forEach { print($0.text(paint)) }
        var lines = refetches.map(\.text)
        let counts =
            counted([(whole, "whole")]) + foundCounts { _ in true }
            + counted([(repaired, "repaired")])
        let named = entries > 0 ? "\(entries.of("entry", "entries")), " : ""
        let read = isQuick ? ", sizes only" : sizeClause(bytes)
        let checked = entries > 0 || resources == 0 ? "" : ", \(resources.of("resource"))"
        // `objects` excludes missing objects, but the counts include them.
        let all = objects + findings.count { $0.kind == .missing }
        lines.append(
            "\(named)\(all.of("object"))\(read)\(checked)"
                + (counts.isEmpty ? "" : ": \(counts.joined(separator: ", "))")
                + " (\(DurationText.describe(seconds)))")
        lines += unfetched.unfetchedLines
        if leftovers > 0 {
            lines.append(
                "tmp/: \(leftovers.of("file")) left over from killed runs; "
                    + "to remove them: \(Suggestion.command("evict"))")
        }
        if isInterrupted {
            lines.append("interrupted: some objects were not " + (reachesEnd ? "repaired" : "read"))
        } else if failure != nil {
            lines.append("stopped: some objects were not read")
        } else if !reachesEnd {
            lines.append("time limit reached: the next run continues here")
        } else if isResumed {
            lines.append("complete: earlier runs verified the other objects")
        }
        if let remedy { lines.append(remedy) }
        if !isClean || !isInterrupted {
            lines.append(isSound ? paint.clean(verdict) : paint.failed(verdict))
        }
        print(lines.joined(separator: "\n"))
    }

    private func foundCounts(of isIncluded: (Finding.Kind) -> Bool) -> [String] {
        Finding.Kind.allCases.filter(isIncluded).flatMap { kind in
            let unusable = kind == .missing ? entryFindings.unusable : 0
            return counted([(count(kind) - unusable, kind.rawValue), (unusable, "unusable")])
        }
    }

    private var verdict: String {
        if isClean { return isComplete ? "clean" : "clean so far" }
        if isSound { return "repaired" }
        return lost.count < unrepaired.count + entryFindings.count
            ? "problems found" : "\(notRecovered); \(recovery)"
    }

    private var notRecovered: String { "\(lost.count.of("object")) not recovered" }

    private var recovery: String {
        "the next repair or prefetch downloads \(lost.count == 1 ? "it" : "them")"
    }

    private var unrepaired: [Finding] { findings.filter { $0.kind.isCorruption && !$0.isRepaired } }
    private var lost: [Finding] { unrepaired.filter { $0.repair == .lost } }

    private var remedy: String? {
        // A repair does not download uncached entries.
        let uncached = entryFindings.fetchable
        if uncached > 0 {
            let count = uncached.of("entry is", "entries are")
            return "\(count) not in the cache, or not as the manifest requires; \(prefetch)"
        }
        if unrepaired.contains(where: { $0.kind == .index && $0.digest == nil }) {
            return "to rebuild the index: \(Suggestion.command("reindex"))"
        }
        let isRepairable = unrepaired.contains { $0.repair == nil && $0.isRepairable }
        guard isRepairable, findings.allSatisfy({ $0.repair == nil }) else { return nil }
        return "to download damaged objects again, with the network options of prefetch: "
            + Suggestion.command("verify --repair\(manifestOptions)")
    }

    private var manifestOptions: String {
        manifests.map { " " + .shellOption("--manifest", $0.sanitizedForTerminal) }.joined()
    }

    private var prefetch: String {
        let command =
            manifests.contains("-")
            ? "a prefetch of the same manifest"
            : Suggestion.command(
                "prefetch "
                    + manifests.map(\.sanitizedForTerminal.shellArgument).joined(separator: " "))
        return "to download the missing icons (add this command's options): \(command)"
    }

    package var complaint: String? {
        let bad = findings.filter(\.kind.isCorruption)
        let interruption = isInterrupted ? "interrupted after \(objects.of("object"))" : nil
        let entries = entryFindings.count
        guard !bad.isEmpty || entries > 0 else { return interruption }
        let kinds = foundCounts { $0.isCorruption }.joined(separator: ", ")
        var parts = [interruption, kinds + (whole > 0 ? ", \(whole) whole" : "")].compactMap(\.self)
        let left = unrepaired.filter { $0.repair != .lost }
        if unrepaired.isEmpty, entries == 0 {
            parts.append("all repaired")
        } else if bad.count > unrepaired.count {
            parts[parts.count - 1] += ", \(bad.count - unrepaired.count) repaired"
        }
        if !lost.isEmpty {
            let failure = refetches.first { $0.outcome == .failed }
            let reason = failure.map {
                ", first failure: \($0.key.shownAsURL): \($0.problem?.code ?? "failed")"
                    + $0.advice
            }
            parts.append(notRecovered + (reason ?? ""))
            parts.append(recovery)
        }
        if let first = left.first ?? entryFindings.first {
            // An entry's position is not enough to identify the icon.
            let icon = left.isEmpty ? first.urls.first.map { "\($0.shownAsURL): " } ?? "" : ""
            parts.append("first problem: \(first.subject): \(icon)\(first.message)")
            parts.append(
                left.count + entries == entryFindings.fetchable
                    ? prefetch : "for details: \(Suggestion.command("verify\(manifestOptions)"))")
        }
        return parts.joined(separator: "; ")
    }

    func printJSON() throws {
        var object: JSONObject = [
            "clean": isClean, "complete": isComplete, "objects": objects, "bytes": bytes,
            "whole": whole, "resources": resources, "entries": entries,
            "index_objects": indexObjects, "index_bytes": indexBytes, "tree_objects": treeObjects,
            "tree_bytes": treeBytes,
        ]
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, count(kind)) }
        var times = JSONObject()
        for step in Step.allCases { times.set(step.rawValue, steps[step] ?? 0) }
        object.set([
            "repaired": repaired, "temporaries": temporaries, "seconds": seconds, "steps": times,
        ])
        Console.add("\(object.text.dropLast()),\"findings\":[")
        var separator = ""
        func add(_ finding: Finding) {
            Console.add(separator + finding.json.text)
            separator = ","
        }
        findings.forEach(add)
        try entryFindings.forEach(add)
        object = [
            "refetches": refetches.map(\.json), "interrupted": isInterrupted,
            "resumed": isResumed, "reached_end": reachesEnd, "leftovers": leftovers,
            "error": failure?.json, "unfetched": unfetched,
        ]
        print("],\(object.text.dropFirst())")
    }
}

extension VerifyReport.Finding {
    fileprivate var isRepairable: Bool {
        kind == .obstructed || digest != nil && kind.isCorruption && kind != .unreadable
    }

    fileprivate func text(_ paint: Paint) -> String {
        let label = isUnusable ? "unusable" : kind.rawValue
        let kind = kind.isCorruption ? paint.failed(label) : label
        var text = "\(kind): \(subject.sanitizedForTerminal): \(message.sanitizedForTerminal)"
        if let repair { text += " (\(repair.rawValue))" }
        if let quarantine { text += "\n    moved to \(quarantine)" }
        return text + urls.map { "\n    \($0.shownAsURL)" }.joined()
    }

    fileprivate var json: JSONObject {
        [
            "kind": kind.rawValue, "subject": subject.sanitizedForTerminal,
            "message": message.sanitizedForTerminal, "digest": digest?.description,
            "urls": urls.map(\.shownAsURL), "repair": repair?.rawValue, "quarantine": quarantine,
        ]
    }
}

extension VerifyReport.Refetch {
    fileprivate var advice: String {
        missingOptions.map { "; if the prefetch used \($0), also use it for the repair" } ?? ""
    }

    private func advice(after message: String) -> String {
        let first = missingOptions?.prefix { $0 != " " } ?? ""
        return message.contains(first) ? "" : advice
    }

    fileprivate var text: String {
        let url = key.shownAsURL
        switch outcome {
        case .fetched: return "downloaded again: \(url): same bytes"
        case .changed:
            return "downloaded again: \(url): different bytes: \(digest?.description ?? "")"
        case .failed:
            let reason = problem.map {
                "\($0.code): \($0.message.sanitizedForTerminal)\(advice(after: $0.message))"
            }
            return "download failed: \(url): \(reason ?? "failed")"
        }
    }

    fileprivate var json: JSONObject {
        [
            "url": key.shownAsURL, "outcome": outcome.rawValue, "digest": digest?.description,
            "error": problem.map {
                JSONObject(errorCode: $0.code, message: $0.message + advice(after: $0.message))
            },
        ]
    }
}

extension ObjectProgress {
    package var text: ProgressText {
        var text = ProgressText()
        text.add(total.map { "\(objects)/\($0) objects" } ?? "\(objects) objects", rank: 0)
        text.add(ByteText.describe(bytes), rank: 4)
        text.add("\(ByteText.describe(bytesPerSecond))/s", rank: 3)
        text.add("\(findings) found", rank: findings > 0 ? 1 : 5)
        if let secondsLeft, secondsLeft > 0 {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 2)
        }
        return text
    }
}
