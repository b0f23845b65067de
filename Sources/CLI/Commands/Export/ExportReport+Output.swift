import LarderCore
import LarderExport

extension ExportReport {
    package func text(_ paint: Paint = .none) -> String {
        var lines = problems.lines(paint)
        var parts = counted([
            (linked, "linked"), (cloned, "cloned"), (copied, "copied"), (resized, "resized"),
            (unchanged, "unchanged"), (duplicates, duplicates == 1 ? "duplicate" : "duplicates"),
            (pruned, "pruned"), (unfinished, "unfinished"),
        ])
        parts += problems.parts
        let counts = parts.isEmpty ? "" : ": " + parts.joined(separator: ", ")
        lines.append(
            "\(icons.of("icon")) for \(directory.sanitizedForTerminal)\(counts)"
                + (bytes > 0 ? "; wrote \(ByteText.describe(bytes))" : "")
                + " (\(DurationText.describe(seconds)))")
        if isInterrupted { lines.append("interrupted: finished work is kept") }
        return lines.joined(separator: "\n")
    }

    package var complaint: String? {
        isInterrupted ? "interrupted: finished work is kept" : problems.complaint
    }

    package var json: JSONObject {
        var object: JSONObject = ["layout": layout.rawValue]
        object.set("directory", exactly: directory)
        object.set([
            "icons": icons, "linked": linked, "cloned": cloned, "copied": copied,
            "unchanged": unchanged, "duplicates": duplicates, "skipped": skipped, "failed": failed,
            "unfinished": unfinished, "bytes": bytes, "pruned": pruned, "resized": resized,
        ])
        object.set(problems)
        object.set(["interrupted": isInterrupted, "seconds": seconds])
        return object
    }
}

extension ItemFailures {
    func lines(_ paint: Paint) -> [String] {
        let lines = failures.map { paint.failed($0.text) }
        let others = failed + placeholders - failures.count - repeats
        return others > 0 ? lines + ["and \(others) more failed"] : lines
    }

    var parts: [String] {
        (skipped > 0 ? ["\(skipped) skipped (\(reasons { $0.isSkip }))"] : []) + failedParts
    }

    var failedParts: [String] {
        (placeholders > 0 ? [placeholders.of("placeholder")] : [])
            + (failed > 0 ? ["\(failed) failed (\(reasons { !$0.isSkip }))"] : [])
    }

    var complaint: String? {
        failures.first.map { "icons: \(failedParts.joined(separator: ", ")), such as \($0.text)" }
    }

    private func reasons(_ isNamed: (Code) -> Bool) -> String {
        Code.allCases.filter(isNamed).compactMap { code in
            counts[code].map { "\($0) \(code.rawValue)" }
        }.joined(separator: ", ")
    }
}

extension ItemFailure {
    fileprivate var text: String {
        let subject = url?.shownAsURL ?? name.sanitizedForTerminal
        return (subject.isEmpty ? "" : "\(subject): ") + message.sanitizedForTerminal
    }

    fileprivate var json: JSONObject {
        [
            "code": code.rawValue, "name": name.sanitizedForTerminal, "url": url?.shownAsURL,
            "message": message.sanitizedForTerminal,
        ]
    }
}

extension JSONObject {
    mutating func set<Code>(_ problems: ItemFailures<Code>) {
        var reasons = JSONObject()
        for code in Code.allCases {
            if let count = problems.counts[code] { reasons.set(code.rawValue, count) }
        }
        set("reasons", reasons)
        set("failures", problems.failures.map(\.json))
    }
}
