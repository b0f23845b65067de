import LarderCache
import LarderCore

extension VerifyReport {
    /// Writes one finding at a time, because there may be a million.
    package func writeText(_ paint: Paint = .none, _ write: (String) throws -> Void) throws {
        for finding in findings { try write(finding.text(paint) + "\n") }
        try entryFindings.forEach { try write($0.text(paint) + "\n") }
        var lines = refetches.map(\.text)
        let counts =
            counted([(whole, "whole")]) + foundCounts { _ in true }
            + counted([(repaired, "repaired")])
        let named = entries > 0 ? "\(entries.of("entry", "entries")), " : ""
        let read = isQuick ? ", sizes only" : sizeClause(bytes)
        let checked = entries > 0 || resources == 0 ? "" : ", \(resources.of("resource"))"
        // Missing objects are included in the total, because the counts by kind include them.
        let all = objects + findings.count { $0.kind == .missing }
        lines.append(
            "\(named)\(all.of("object"))\(read)\(checked)"
                + (counts.isEmpty ? "" : ": \(counts.joined(separator: ", "))")
                + " (\(DurationText.describe(seconds)))")
        lines += unfetched.unfetchedLines
        if leftovers > 0 {
            lines.append(
                "tmp/: \(leftovers.of("file")) left over from killed runs; "
                    + "to remove them: \(Suggestion.command("evict"))")
        }
        if isInterrupted {
            lines.append("interrupted: some objects were not " + (reachesEnd ? "repaired" : "read"))
        } else if failure != nil {
            lines.append("stopped: some objects were not read")
        } else if !reachesEnd {
            lines.append("time limit reached: the next run continues here")
        } else if isResumed {
            lines.append("complete: earlier runs verified the other objects")
        }
        if let remedy { lines.append(remedy) }
        if !isClean || !isInterrupted {
            lines.append(isSound ? paint.clean(verdict) : paint.failed(verdict))
        }
        try write(lines.joined(separator: "\n") + "\n")
    }

    private func foundCounts(of isIncluded: (Finding.Kind) -> Bool) -> [String] {
        Finding.Kind.allCases.filter(isIncluded).flatMap { kind in
            let unusable = kind == .missing ? entryFindings.unusable : 0
            return counted([(count(kind) - unusable, kind.rawValue), (unusable, "unusable")])
        }
    }

    private var verdict: String {
        if isClean { return isComplete ? "clean" : "clean so far" }
        if isSound { return "repaired" }
        return lost.count < unrepaired.count + entryFindings.count
            ? "problems found" : "\(notRecovered); \(recovery)"
    }

    private var notRecovered: String { "\(lost.count.of("object")) not recovered" }

    private var recovery: String {
        "the next repair or prefetch downloads \(lost.count == 1 ? "it" : "them")"
    }

    private var unrepaired: [Finding] { findings.filter { $0.kind.isCorruption && !$0.isRepaired } }
    private var lost: [Finding] { unrepaired.filter { $0.repair == .lost } }

    private var remedy: String? {
        // A repair does not download uncached entries.
        let uncached = entryFindings.fetchable
        if uncached > 0 {
            let count = uncached.of("entry is", "entries are")
            return "\(count) not cached as the manifest requires; \(prefetch)"
        }
        if unrepaired.contains(where: { $0.kind == .index && $0.digest == nil }) {
            return "to rebuild the index: \(Suggestion.command("reindex"))"
        }
        let isRepairable = unrepaired.contains { $0.repair == nil && $0.isRepairable }
        guard isRepairable, findings.allSatisfy({ $0.repair == nil }) else { return nil }
        return "to download damaged objects again, with the network options of prefetch: "
            + Suggestion.command("verify --repair\(manifestOptions)")
    }

    private var manifestOptions: String {
        manifests.map { " " + .shellOption("--manifest", $0.sanitizedForTerminal) }.joined()
    }

    private var prefetch: String {
        let command =
            manifests.contains("-")
            ? "a prefetch of the same manifest"
            : Suggestion.command(
                "prefetch "
                    + manifests.map(\.sanitizedForTerminal.shellArgument).joined(separator: " "))
        return "to download the missing icons, with the same options: \(command)"
    }

    /// The summary of all problems, including repaired ones, or nil if there are none.
    package var complaint: String? {
        let bad = findings.filter(\.kind.isCorruption)
        let interruption = isInterrupted ? "interrupted after \(objects.of("object"))" : nil
        let entries = entryFindings.count
        guard !bad.isEmpty || entries > 0 else { return interruption }
        let kinds = foundCounts { $0.isCorruption }.joined(separator: ", ")
        var parts = [interruption, kinds + (whole > 0 ? ", \(whole) whole" : "")].compactMap(\.self)
        let left = unrepaired.filter { $0.repair != .lost }
        if unrepaired.isEmpty, entries == 0 {
            parts.append("all repaired")
        } else if bad.count > unrepaired.count {
            parts[parts.count - 1] += ", \(bad.count - unrepaired.count) repaired"
        }
        if !lost.isEmpty {
            let failure = refetches.first { $0.outcome == .failed }
            let reason = failure.map {
                ", first failure: \($0.key.shownAsURL): \($0.problem?.code ?? "failed")"
                    + $0.advice
            }
            parts.append(notRecovered + (reason ?? ""))
            parts.append(recovery)
        }
        if let first = left.first ?? entryFindings.first {
            // The entry's position is not enough to identify the icon, so the message has the URL.
            let icon = left.isEmpty ? first.urls.first.map { "\($0.shownAsURL): " } ?? "" : ""
            parts.append("first problem: \(first.subject): \(icon)\(first.message)")
            parts.append(
                left.count + entries == entryFindings.fetchable
                    ? prefetch : "for details: \(Suggestion.command("verify\(manifestOptions)"))")
        }
        return parts.joined(separator: "; ")
    }

    package func writeJSON(_ write: (String) throws -> Void) throws {
        var object: JSONObject = [
            "clean": isClean, "complete": isComplete, "objects": objects, "bytes": bytes,
            "whole": whole, "resources": resources, "entries": entries,
            "index_objects": indexObjects, "index_bytes": indexBytes, "tree_objects": treeObjects,
            "tree_bytes": treeBytes,
        ]
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, count(kind)) }
        var times = JSONObject()
        for step in Step.allCases { times.set(step.rawValue, steps[step] ?? 0) }
        object.set([
            "repaired": repaired, "temporaries": temporaries, "seconds": seconds, "steps": times,
        ])
        try write("\(object.text.dropLast()),\"findings\":[")
        var separator = ""
        func add(_ finding: Finding) throws {
            try write(separator + finding.json.text)
            separator = ","
        }
        for finding in findings { try add(finding) }
        try entryFindings.forEach(add)
        object = [
            "refetches": refetches.map(\.json), "interrupted": isInterrupted,
            "resumed": isResumed, "reached_end": reachesEnd, "leftovers": leftovers,
            "error": failure?.json, "unfetched": unfetched,
        ]
        try write("],\(object.text.dropFirst())\n")
    }
}

extension VerifyReport.Finding {
    fileprivate var isRepairable: Bool {
        kind == .obstructed || digest != nil && kind.isCorruption && kind != .unreadable
    }

    fileprivate func text(_ paint: Paint) -> String {
        let label = isUnusable ? "unusable" : kind.rawValue
        let kind = kind.isCorruption ? paint.failed(label) : label
        var text = "\(kind): \(subject.sanitizedForTerminal): \(message.sanitizedForTerminal)"
        if let repair { text += " (\(repair.rawValue))" }
        if let quarantine { text += "\n    moved to \(quarantine)" }
        return text + urls.map { "\n    \($0.shownAsURL)" }.joined()
    }

    fileprivate var json: JSONObject {
        [
            "kind": kind.rawValue, "subject": subject.sanitizedForTerminal,
            "message": message.sanitizedForTerminal, "digest": digest?.description,
            "urls": urls.map(\.shownAsURL), "repair": repair?.rawValue, "quarantine": quarantine,
        ]
    }
}

extension VerifyReport.Refetch {
    fileprivate var advice: String {
        missingOptions.map { "; if the prefetch used \($0), also use it for the repair" } ?? ""
    }

    private func advice(after message: String) -> String {
        let first = missingOptions?.prefix { $0 != " " } ?? ""
        return message.contains(first) ? "" : advice
    }

    fileprivate var text: String {
        let result =
            switch outcome {
            case .fetched: "same bytes"
            case .changed: "different bytes: \(digest.map { "\($0)" } ?? "")"
            case .failed:
                problem.map {
                    "\($0.code): \($0.message.sanitizedForTerminal)\(advice(after: $0.message))"
                }
                    ?? "failed"
            }
        let verb = outcome == .failed ? "download failed" : "downloaded again"
        return "\(verb): \(key.shownAsURL): \(result)"
    }

    fileprivate var json: JSONObject {
        [
            "url": key.shownAsURL, "outcome": outcome.rawValue, "digest": digest?.description,
            "error": problem.map {
                JSONObject(errorCode: $0.code, message: $0.message + advice(after: $0.message))
            },
        ]
    }
}

extension ObjectProgress {
    package var text: ProgressText {
        var text = ProgressText()
        text.add(total.map { "\(objects)/\($0) objects" } ?? "\(objects) objects", rank: 0)
        text.add(ByteText.describe(bytes), rank: 4)
        text.add("\(ByteText.describe(bytesPerSecond))/s", rank: 3)
        text.add("\(findings) found", rank: findings > 0 ? 1 : 5)
        if let secondsLeft, secondsLeft > 0 {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 2)
        }
        return text
    }
}
