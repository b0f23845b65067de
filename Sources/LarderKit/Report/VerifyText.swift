import LarderCache

extension VerifyReport {
    /// The report for people: a line for each finding and for each URL fetched again, and the counts.
    public var text: String {
        var lines = findings.map(\.text)
        lines += refetches.map(\.text)
        let found = Finding.Kind.allCases.filter { count($0) > 0 }
            .map { ", \(count($0)) \($0.rawValue)" }
        let named = entries > 0 ? "\(entries) entries, " : ""
        lines.append(
            "\(named)\(objects) objects, \(ByteText.describe(bytes)), \(resources) resources: "
                + "\(whole) whole" + found.joined() + (repaired > 0 ? ", \(repaired) repaired" : "")
                + " (\(DurationText.describe(seconds)))")
        if isInterrupted {
            lines.append(
                "interrupted: " + (isComplete ? "not all was repaired" : "not all was read"))
        } else if !isComplete {
            lines.append("time was up: the next run goes on from here")
        }
        if !isClean || !isInterrupted {
            lines.append(isClean ? "clean" : isSound ? "repaired" : "not clean")
        }
        return lines.joined(separator: "\n")
    }

    /// What is wrong, one line for people; nil where nothing is. What was repaired was wrong, too.
    public var complaint: String? {
        let bad = findings.filter(\.kind.isCorruption)
        let interruption = isInterrupted ? "interrupted after \(objects) objects" : nil
        guard let first = bad.first(where: { !$0.isRepaired }) ?? bad.first else {
            return interruption
        }
        let kinds = Finding.Kind.allCases.filter { $0.isCorruption && count($0) > 0 }
            .map { "\(count($0)) \($0.rawValue)" }.joined(separator: ", ")
        let mended = bad.count(where: \.isRepaired)
        var text = "\(kinds), \(whole) whole"
        if mended == bad.count {
            text += "; all repaired"
        } else {
            if mended > 0 { text += ", \(mended) repaired" }
            text += "; the first: \(first.subject): \(first.message); larder verify says more"
        }
        return [interruption, text].compactMap(\.self).joined(separator: "; ")
    }
}

extension VerifyReport.Finding {
    fileprivate var text: String {
        var text =
            "\(kind.rawValue): \(subject.sanitizedForTerminal): \(message.sanitizedForTerminal)"
        if let repair { text += " (\(repair.rawValue))" }
        if let quarantine { text += "\n    moved to \(quarantine)" }
        return text + urls.map { "\n    \($0.sanitizedForTerminal)" }.joined()
    }
}

extension VerifyReport.Refetch {
    fileprivate var text: String {
        let result =
            switch outcome {
            case .fetched: "the same bytes"
            case .changed: "other bytes now: \(digest.map { "\($0)" } ?? "")"
            case .failed:
                problem.map { "\($0.code): \($0.message.sanitizedForTerminal)" } ?? "failed"
            }
        let verb = outcome == .failed ? "could not be fetched again" : "fetched again"
        return "\(verb): \(key.sanitizedForTerminal): \(result)"
    }
}

extension VerifyProgress {
    /// One line for people: count, bytes, rate, findings and time left.
    public var text: String {
        let count = total.map { "\(objects)/\($0)" } ?? "\(objects)"
        var parts = [
            "\(count) objects", ByteText.describe(bytes),
            "\(ByteText.describe(bytesPerSecond))/s", "\(findings) found",
        ]
        if let secondsLeft, secondsLeft > 0 {
            parts.append("\(DurationText.describe(secondsLeft)) left")
        }
        return parts.joined(separator: "  ")
    }
}
