import LarderExport
import LarderKit

extension ExportReport {
    /// The report for people: a line for each of the first icons that failed, and the counts.
    package func text(_ paint: Paint = .none) -> String {
        var lines = failures.map { paint.failed($0.text) }
        if failed > failures.count { lines.append("and \(failed - failures.count) more failed") }
        var parts = [
            (linked, "linked"), (cloned, "cloned"), (copied, "copied"), (unchanged, "unchanged"),
            (duplicates, duplicates == 1 ? "duplicate" : "duplicates"), (pruned, "pruned"),
            (unfinished, "unfinished"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        if skipped > 0 { parts.append("\(skipped) skipped (\(reasons { $0.isSkip }))") }
        if failed > 0 { parts.append("\(failed) failed (\(reasons { !$0.isSkip }))") }
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        lines.append(
            "\(icons.of("icon")) for \(directory.sanitizedForTerminal)\(counts); wrote "
                + "\(ByteText.describe(bytes)) (\(DurationText.describe(seconds)))")
        if isInterrupted { lines.append("interrupted: what was finished is kept") }
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line; nil if nothing is.
    package var complaint: String? {
        if isInterrupted { return "interrupted: what was finished is kept" }
        guard let first = failures.first else { return nil }
        return "\(failed.of("icon")) failed (\(reasons { !$0.isSkip })), such as \(first.text)"
    }

    private func reasons(_ isNamed: (ExportProblem.Code) -> Bool) -> String {
        ExportProblem.Code.allCases.filter(isNamed).compactMap { code in
            problems[code].map { "\($0) \(code.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension ExportProblem {
    package var text: String {
        let subject = url?.shownAsURL ?? name.sanitizedForTerminal
        return (subject.isEmpty ? "" : "\(subject): ") + message.sanitizedForTerminal
    }
}
