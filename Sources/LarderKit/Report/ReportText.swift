import Foundation
import LarderCache

extension Report {
    /// The summary for people, a few lines.
    package var text: String { text(unsupported: []) }

    /// The same with lines about schemes, such as ``PlanSummary/unsupportedText``.
    package func text(unsupported: [String]) -> String {
        var counts = [
            "fetched \(count(.fetched))", "revalidated \(count(.revalidated))",
            "already cached \(count(.cached))", "coalesced \(count(.coalesced))",
            "failed \(count(.failed))",
        ]
        if count(.unstored) > 0 {
            counts.append(
                "not stored \(count(.unstored)) (no-store; --store-anyway keeps them)")
        }
        if count(.skipped) > 0 { counts.append("skipped \(count(.skipped))") }
        if count(.unfinished) > 0 { counts.append("unfinished \(count(.unfinished))") }
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        var lines = [
            "\(entries.of("entry", "entries"))\(several): " + counts.joined(separator: ", ")
        ]
        for (reason, count) in failures.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            lines.append("  failed, \(reason): \(count)")
            if reason == EntryError.Code.unsupportedScheme.rawValue { lines += unsupported }
        }
        lines.append(
            "\(ByteText.describe(receivedBytes)) received in \(DurationText.describe(seconds))")
        if isInterrupted { lines.append("interrupted: what was finished is kept") }
        if let failure {
            lines.append(
                "stopped: \(failure.description.sanitizedForTerminal); what was stored is kept")
        }
        return lines.joined(separator: "\n")
    }
}

extension Progress {
    /// One line for people: count, bytes, rate, failures and time left.
    package var text: String {
        var parts = [
            "\(done)/\(total)", ByteText.describe(receivedBytes),
            "\(ByteText.describe(bytesPerSecond))/s", "\(failed) failed",
        ]
        if let secondsLeft, done < total {
            parts.append("\(DurationText.describe(secondsLeft)) left")
        }
        return parts.joined(separator: "  ")
    }
}

extension PlanSummary {
    /// The counts for people, one line.
    package var text: String {
        var problems: [String] = []
        if insecure > 0 { problems.append("plain http \(insecure)") }
        if skipped > 0 { problems.append("skipped \(skipped)") }
        if failed > 0 { problems.append("failed \(failed)") }
        if unsupported > 0 { problems.append("of which unsupported schemes \(unsupported)") }
        var counts = ["cached \(cached)", "stale \(stale)", "missing \(missing)"]
        if remembered > 0 { counts.append("not asked for again so soon \(remembered)") }
        if leftAlone > 0 { counts.append("left alone \(leftAlone)") }
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        return entries.of("entry", "entries") + several
            + (problems.isEmpty ? "" : " (\(problems.joined(separator: ", ")))")
            + "; \(urls.of("URL")): " + counts.joined(separator: ", ")
    }

    /// Lines for people: each of the manifests that has entries and no icon, and each place that
    /// was named in vain.
    package func complaints(of sources: [ManifestSource]) -> [String] {
        zip(sources, manifests).flatMap { source, manifest in
            manifest.refusal(of: source).map { [$0.description] } ?? manifest.warnings(of: source)
        }
    }

    /// A line for people for each scheme that is not fetched, with the number of its icons.
    package var unsupportedText: [String] {
        unsupportedSchemes.sorted { $0.key < $1.key }.map { scheme, count in
            "    unsupported-scheme \(scheme.quoted(limit: 20)): \(count)"
        }
    }
}

extension PlannedEntry {
    /// The entry's line for people: status, priority, URL and name, or what is wrong with it.
    package var text: String {
        let subject = "\(manifest.sanitizedForTerminal): entry \(position)"
        let label = name.isEmpty ? "" : "  \(name.sanitizedForTerminal)"
        if let error {
            let place = url.map { "  \($0.shownAsURL)" } ?? ""
            return
                "\(statusWord)  \(subject)\(label)\(place)  \(error.message.sanitizedForTerminal)"
        }
        let mark = isDuplicate ? " (duplicate)" : ""
        let past = lastFailure.map { " (\($0.text))" } ?? ""
        return
            "\(statusWord)\(mark)\(past)  \(priority)  \((url ?? "").shownAsURL)\(label)"
    }
}

extension PastFailure {
    /// `failed 3 times, last http-503 2 h 5 min ago`.
    var text: String {
        count == 1
            ? "failed once, \(code) \(age) ago" : "failed \(count) times, last \(code) \(age) ago"
    }
}

extension EntryResult {
    /// What is wrong with a failed entry, one line for people; nil for any other outcome.
    package var complaint: String? {
        guard outcome == .failed, let problem else { return nil }
        let label = name.isEmpty ? "" : " \(name.sanitizedForTerminal)"
        let place = url.map { " \($0.shownAsURL)" } ?? ""
        return "\(manifest.sanitizedForTerminal): entry \(position)\(label):\(place)"
            + " \(problem.code): \(problem.message.sanitizedForTerminal)"
    }
}

extension Resource {
    /// The resource's line in `list`: digest, size, media type and URL, parted by tabs.
    package var text: String {
        let url = shownURL
        return "\(object.digest)\t\(object.size)\t\(object.mediaType ?? "-")\t\(url)"
    }
}

extension CacheStatus {
    /// The status for people, a few lines.
    package var text: String {
        """
        cache      \(path.sanitizedForTerminal)
        objects    \(totals.objects), \(ByteText.describe(totals.bytes)) \
        (\(ByteText.describe(diskBytes)) on disk)
        resources  \(totals.resources), \(totals.freshResources) fresh, \
        \(totals.resources - totals.freshResources) stale
        index      \(ByteText.describe(indexBytes))
        """ + (totals.failures > 0 ? "\nfailures   \(totals.failures) remembered" : "")
            + (totals.pins > 0 ? "\npins       \(totals.pins)" : "")
            + (unreadable > 0 ? "\nunreadable \(unreadable) directories of objects" : "")
            + (quarantined > 0 ? "\nquarantine \(quarantined.of("file"))" : "")
            + runs.map { "\n\($0.text)" }.joined()
    }
}

extension RunRecord {
    /// `prefetch   ended 2026-11-21T02:00:05Z after 12 s with status 0`.
    fileprivate var text: String {
        let name = command.rawValue.padding(toLength: 11, withPad: " ", startingAt: 0)
        return "\(name)ended \(UTCTime.timestamp(ended)) after \(DurationText.describe(seconds))"
            + " with status \(exitStatus)"
    }
}

extension EvictionReport.Victim {
    /// The object's line for people: digest, size in bytes and reason, parted by tabs.
    package var text: String { "\(digest)\t\(size)\t\(reason.rawValue)" }
}

extension EvictionReport {
    /// The report for people, a few lines.
    package var text: String {
        func describe(_ tally: Tally) -> String {
            "\(tally.count.of("object")), \(ByteText.describe(tally.bytes))"
        }
        var lines = ["\(isDryRun ? "would evict" : "evicted") \(describe(total))"]
        for reason in Reason.allCases {
            if let tally = evicted[reason] { lines.append("  \(reason.text): \(describe(tally))") }
        }
        for hold in Hold.allCases {
            if let tally = held[hold] { lines.append("kept, \(hold.text): \(describe(tally))") }
        }
        for leftover in Leftover.allCases {
            guard let tally = swept[leftover], tally.count > 0 else { continue }
            let count = tally.count.of(leftover.text.one, leftover.text.several)
            lines.append(
                "\(isDryRun ? "would sweep" : "swept") \(count), \(ByteText.describe(tally.bytes))")
        }
        if forgottenFailures > 0 {
            lines.append("forgot \(forgottenFailures.of("failure")), the oldest")
        }
        let time = DurationText.describe(seconds)
        lines.append("\(describe(left)) \(isDryRun ? "would be left" : "left") (\(time))")
        if isInterrupted { lines.append("interrupted: what went is gone, and the rest stays") }
        if let shortfall { lines.append(shortfall) }
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line for people; nil if nothing is.
    package var complaint: String? {
        guard isInterrupted else { return shortfall }
        return "interrupted after \(total.count.of("object")) went"
    }

    /// Which limits were out of reach; nil if none was, or an interrupted eviction cannot tell.
    private var shortfall: String? {
        guard !missed.isEmpty, !isInterrupted else { return nil }
        let kept = held.values.reduce(0) { $0 + $1.count }
        return "limit out of reach: \(missed.map(\.text).joined(separator: ", "))"
            + (kept > 0
                ? "; \(kept.of("object is", "objects are")) kept that would have to go" : "")
    }
}

extension EvictionReport.Reason {
    fileprivate var text: String {
        switch self {
        case .only: "in no manifest of --only"
        case .age: "too old"
        case .size: "too many bytes"
        case .count: "too many objects"
        case .free: "too little free on the disk"
        }
    }
}

extension EvictionReport.Hold {
    fileprivate var text: String {
        switch self {
        case .manifest: "in a manifest"
        case .pin: "pinned"
        case .run: "in use by a run under way"
        }
    }
}

extension EvictionReport.Leftover {
    /// What one of them is, and what several are.
    fileprivate var text: (one: String, several: String) {
        switch self {
        case .orphans: ("object without a row", "objects without a row")
        case .runs: ("run that was broken off", "runs that were broken off")
        case .partials: ("interrupted body", "interrupted bodies")
        case .quarantined: ("quarantined file", "quarantined files")
        case .temporaries: ("thing in tmp/ that was nobody's", "things in tmp/ that were nobody's")
        }
    }
}
