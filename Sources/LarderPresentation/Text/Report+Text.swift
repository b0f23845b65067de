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
        for (reason, count) in failures.sorted(by: { ($1.value, $0.key) < ($0.value, $1.key) }) {
            lines.append("  failed, \(reason): \(count)")
            if reason == EntryError.Code.unsupportedScheme.rawValue { lines += unsupported }
        }
        lines.append(
            "\(ByteText.describe(receivedBytes)) received in \(DurationText.describe(seconds))")
        if let remote { lines += remote.lines(paint) }
        if isInterrupted { lines.append("interrupted: what was finished is kept") }
        if let failure {
            lines.append(
                paint.failed("stopped")
                    + ": \(failure.description.sanitizedForTerminal); what was stored is kept")
        }
        return lines.joined(separator: "\n")
    }
}
