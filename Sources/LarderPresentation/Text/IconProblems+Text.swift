import LarderExport
import LarderKit

extension IconProblems {
    /// A line for each of the first icons that failed.
    func lines(_ paint: Paint) -> [String] {
        let lines = failures.map { paint.failed($0.text) }
        return failed > failures.count
            ? lines + ["and \(failed - failures.count) more failed"] : lines
    }

    /// The counts of those that were skipped, and that failed, with their reasons.
    var parts: [String] {
        let skips = skipped > 0 ? ["\(skipped) skipped (\(reasons { $0.isSkip }))"] : []
        return failed > 0 ? skips + ["\(failed) failed (\(reasons { !$0.isSkip }))"] : skips
    }

    /// What is wrong, one line; nil if nothing is.
    var complaint: String? {
        failures.first.map {
            "\(failed.of("icon")) failed (\(reasons { !$0.isSkip })), such as \($0.text)"
        }
    }

    private func reasons(_ isNamed: (Code) -> Bool) -> String {
        Code.allCases.filter(isNamed).compactMap { code in
            counts[code].map { "\($0) \(code.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension IconProblem {
    fileprivate var text: String {
        let subject = url?.shownAsURL ?? name.sanitizedForTerminal
        return (subject.isEmpty ? "" : "\(subject): ") + message.sanitizedForTerminal
    }
}
