import LarderExport
import LarderKit

extension ImportReport {
    /// The report for people: a line for each of the first icons that failed, and the counts.
    package func text(_ paint: Paint = .none) -> String {
        var lines = failures.map { paint.failed($0.text) }
        if failed > failures.count { lines.append("and \(failed - failures.count) more failed") }
        var parts = ["\(imported) imported", "\(present) present", "\(missing) missing"]
        if skipped > 0 { parts.append("\(skipped) skipped (\(reasons { $0.isSkip }))") }
        if failed > 0 { parts.append("\(failed) failed (\(reasons { !$0.isSkip }))") }
        lines.append(
            "\(icons.of("icon")): \(parts.joined(separator: ", ")); read "
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

    private func reasons(_ isNamed: (ImportProblem.Code) -> Bool) -> String {
        ImportProblem.Code.allCases.filter(isNamed).compactMap { code in
            problems[code].map { "\($0) \(code.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension ImportProblem {
    fileprivate var text: String {
        let subject = url?.shownAsURL ?? name.sanitizedForTerminal
        return (subject.isEmpty ? "" : "\(subject): ") + message.sanitizedForTerminal
    }
}
