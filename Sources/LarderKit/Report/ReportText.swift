import LarderCache

extension Report {
    /// The summary for people, a few lines.
    public var text: String {
        var counts = [
            "fetched \(count(.fetched))", "revalidated \(count(.revalidated))",
            "already cached \(count(.cached))", "coalesced \(count(.coalesced))",
            "failed \(count(.failed))",
        ]
        if count(.skipped) > 0 { counts.append("skipped \(count(.skipped))") }
        if count(.unfinished) > 0 { counts.append("unfinished \(count(.unfinished))") }
        var lines = ["\(entries) entries: " + counts.joined(separator: ", ")]
        for (reason, count) in failures.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            lines.append("  failed, \(reason): \(count)")
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
    public var text: String {
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
    public var text: String {
        var counts = ["cached \(cached)", "stale \(stale)", "missing \(missing)"]
        if skipped > 0 { counts.append("skipped \(skipped)") }
        if failed > 0 { counts.append("failed \(failed)") }
        return "\(entries) entries, \(urls) URLs: " + counts.joined(separator: ", ")
    }
}

extension PlannedEntry {
    /// The entry's line for people: status, priority, URL and name, or what is wrong with it.
    public var text: String {
        let subject = "\(manifest.sanitizedForTerminal): entry \(position)"
        let label = name.isEmpty ? "" : "  \(name.sanitizedForTerminal)"
        if let error {
            return
                "\(statusWord)  \(subject):\(label.dropFirst()) \(error.message.sanitizedForTerminal)"
        }
        let mark = isDuplicate ? " (duplicate)" : ""
        return "\(statusWord)\(mark)  \(priority)  \((url ?? "").sanitizedForTerminal)\(label)"
    }
}

extension EntryResult {
    /// What is wrong with a failed entry, one line for people; nil for any other outcome.
    public var complaint: String? {
        guard outcome == .failed, let problem else { return nil }
        let label = name.isEmpty ? "" : " \(name.sanitizedForTerminal)"
        let place = url.map { " \($0.sanitizedForTerminal)" } ?? ""
        return "\(manifest.sanitizedForTerminal): entry \(position)\(label):\(place)"
            + " \(problem.code): \(problem.message.sanitizedForTerminal)"
    }
}

extension Resource {
    /// The resource's line in `list`: digest, size, media type and URL, parted by tabs.
    public var text: String {
        let url = url.maskingCredentials.sanitizedForTerminal
        return "\(object.digest)\t\(object.size)\t\(object.mediaType ?? "-")\t\(url)"
    }
}

extension CacheStatus {
    /// The status for people, a few lines.
    public var text: String {
        """
        cache      \(path.sanitizedForTerminal)
        objects    \(totals.objects), \(ByteText.describe(totals.bytes)) \
        (\(ByteText.describe(diskBytes)) on disk)
        resources  \(totals.resources), \(totals.freshResources) fresh, \
        \(totals.resources - totals.freshResources) stale
        index      \(ByteText.describe(indexBytes))
        """
    }
}

extension VerifyReport {
    /// The report for people: a line for each finding, and the counts.
    public var text: String {
        var lines = findings.map { finding in
            let urls = finding.urls.map { "\n    \($0.maskingCredentials.sanitizedForTerminal)" }
            return "\(finding.kind.rawValue): \(finding.subject.sanitizedForTerminal): "
                + finding.message.sanitizedForTerminal + urls.joined()
        }
        let found = Finding.Kind.allCases.filter { count($0) > 0 }
            .map { "\(count($0)) \($0.rawValue)" }
        lines.append(
            "\(objects) objects, \(ByteText.describe(bytes)), \(resources) resources: "
                + "\(whole) whole" + found.map { ", \($0)" }.joined()
                + " (\(DurationText.describe(seconds)))")
        lines.append(isClean ? "clean" : "not clean")
        return lines.joined(separator: "\n")
    }
}
