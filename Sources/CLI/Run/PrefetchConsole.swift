import LarderKit
import LarderPresentation

/// What a prefetch says on the terminal, and when: with `--quiet`, all that is wrong in one line at
/// the end; otherwise each thing as it happens.
struct PrefetchConsole {
    private let isQuiet: Bool
    private let isJSON: Bool
    /// Whether a report or a lock takes standard output.
    private let isOutputTaken: Bool
    private let allowance: FailureAllowance
    private let line: ProgressLine
    /// What is said at the end.
    private var notes: [String] = []
    private var firstFailure: String?
    private var unsupported = UnsupportedSchemes()
    private var schemes: [String] = []

    init(isQuiet: Bool, isJSON: Bool, isOutputTaken: Bool, allowance: FailureAllowance) {
        self.isQuiet = isQuiet
        self.isJSON = isJSON
        self.isOutputTaken = isOutputTaken
        self.allowance = allowance
        line = ProgressLine(isQuiet: isQuiet)
    }

    mutating func say(_ event: PrefetchEvent, of sources: [ManifestSource]) {
        switch event {
        case .recovered(let recovery):
            complain([recovery.text])
        case .planned(let summary):
            schemes = summary.unsupportedText
            complain(summary.complaints(of: sources))
            line.show("0/\(summary.missing + summary.stale)")
        case .entry(let result):
            guard let complaint = result.complaint else { return }
            firstFailure = firstFailure ?? complaint
            let isNew = unsupported.isNew(result.problem?.code, result.problem?.message)
            guard isNew, !isQuiet else { return }
            line.clear()
            Console.complain(complaint)
        case .progress(let progress):
            line.show(progress.text)
        case .finished(let report):
            line.clear()
            summarise(report)
        }
    }

    /// Says what is wrong in the end.
    ///
    /// - Parameter lock: the lock that was wanted and not written.
    func conclude(_ report: Report, unwritten lock: String?) {
        let last = [complaint(report), lock.map { unwritten($0, report) }].compactMap(\.self)
        let all = notes + last
        if !all.isEmpty { Console.complain(all.joined(separator: "; ")) }
    }

    private mutating func complain(_ complaints: [String]) {
        if isQuiet { notes += complaints } else { complaints.forEach(Console.complain) }
    }

    private func summarise(_ report: Report) {
        if isJSON { return print(report.json) }
        guard !isQuiet else { return }
        let text = report.text(unsupported: schemes)
        if isOutputTaken { Console.write(text + "\n") } else { print(text) }
    }

    /// A lock that lacks entries would be taken for one of all of them.
    private func unwritten(_ lock: String, _ report: Report) -> String {
        let lacking = report.count(.failed) + report.count(.unfinished)
        let reason =
            lacking > 0
            ? "it would lack \(lacking) of \(report.icons) icons" : "the run was not finished"
        return "--write-lock '\(lock)': not written, for \(reason)"
    }

    /// What is wrong with a run, as far as the summary and the complaints about entries have not
    /// said it.
    private func complaint(_ report: Report) -> String? {
        let all = "\(report.icons) \(report.icons > report.entries ? "icons" : "entries")"
        if isQuiet, report.isInterrupted {
            return "interrupted: \(report.count(.unfinished)) of \(all) unfinished"
        }
        if isQuiet, let failure = report.failure { return "\(failure)" }
        let failed = report.count(.failed)
        guard !report.isInterrupted, report.failure == nil,
            !allowance.covers(failed, of: report.icons), isQuiet || allowance != .none
        else { return nil }
        var text = "\(failed) of \(all) failed"
        if allowance != .none { text += ", more than --max-failures \(allowance) allows" }
        if isQuiet, let firstFailure { text += "; the first: \(firstFailure)" }
        return text
    }
}
