import LarderKit

extension Report {
    /// The summary for people, a few lines.
    package var text: String { text() }

    /// The same with lines about schemes, such as ``PlanSummary/unsupportedText``.
    package func text(unsupported: [String] = [], _ paint: Paint = .none) -> String {
        var counts = [
            "fetched \(count(.fetched))", "revalidated \(count(.revalidated))",
            "already cached \(count(.cached))", "coalesced \(count(.coalesced))",
            count(.failed) > 0 ? paint.failed("failed \(count(.failed))") : "failed 0",
        ]
        if remote != nil {
            counts.insert("pulled \(count(.pulled))", at: 1)
            if count(.shared) > 0 { counts.insert("in the remote \(count(.shared))", at: 2) }
        }
        if count(.unstored) > 0 {
            counts.append(
                "not stored \(count(.unstored)) (no-store; --store-anyway keeps them)")
        }
        if count(.skipped) > 0 { counts.append("skipped \(count(.skipped))") }
        if count(.unfinished) > 0 { counts.append("unfinished \(count(.unfinished))") }
        if otherShards > 0 { counts.append("left to other shards \(otherShards)") }
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        var lines = [
            "\(entries.of("entry", "entries"))\(several): " + counts.joined(separator: ", ")
        ]
        lines += failureLines(unsupported)
        lines.append(
            "\(ByteText.describe(receivedBytes)) received in \(DurationText.describe(seconds))")
        if let remote { lines += remote.lines(paint) }
        lines += endLines(paint)
        return lines.joined(separator: "\n")
    }

    /// How many failed for each reason.
    func failureLines(_ unsupported: [String]) -> [String] {
        failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.flatMap { reason, count in
            ["  failed, \(reason): \(count)"]
                + (reason == EntryError.Code.unsupportedScheme.rawValue ? unsupported : [])
        }
    }

    /// Why it ended early, if it did.
    func endLines(_ paint: Paint) -> [String] {
        var lines: [String] = []
        if isInterrupted { lines.append("interrupted: what was finished is kept") }
        if let failure {
            lines.append(
                paint.failed("stopped")
                    + ": \(failure.description.sanitizedForTerminal); what was stored is kept")
        }
        return lines
    }
}
