import LarderExport
import LarderKit

extension ImportReport {
    /// The report for people: a line for each of the first icons that failed, and the counts.
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = ["\(imported) imported", "\(present) present", "\(missing) missing"]
        parts += problems.parts
        lines.append(
            "\(icons.of("icon")): \(parts.joined(separator: ", ")); read "
                + "\(ByteText.describe(bytes)) (\(DurationText.describe(seconds)))")
        if imported == 0, present == 0, missing > 0, failed == 0 {
            lines.append(
                "\(directory.sanitizedForTerminal): has none of these files: are --layout and its "
                    + "version right?")
        }
        if isInterrupted { lines.append("interrupted: what was finished is kept") }
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line; nil if nothing is.
    package var complaint: String? {
        if isInterrupted { return "interrupted: what was finished is kept" }
        return problems.complaint
    }
}
