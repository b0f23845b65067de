import LarderExport
import LarderKit

extension ExportReport {
    /// The report for people: a line for each of the first icons that failed, and the counts.
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = [
            (linked, "linked"), (cloned, "cloned"), (copied, "copied"), (unchanged, "unchanged"),
            (duplicates, duplicates == 1 ? "duplicate" : "duplicates"), (pruned, "pruned"),
            (unfinished, "unfinished"),
        ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
        parts += problems.parts
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
        return problems.complaint
    }
}
