import LarderCore
import LarderPrefetch

extension RemoteVerifyReport {
    package func text(_ paint: Paint = .none, isPart: Bool, isRepair: Bool) -> String {
        if objects == 0, references == 0, foreign == 0, !isInterrupted {
            return location.textOfEmptyRemote(isPart: isPart)
        }
        var lines = findings.map { finding in
            let repair = finding.repair.map { ", \($0.rawValue)" } ?? ""
            return "\(paint.failed(finding.kind.rawValue)): \(finding.digest), "
                + finding.references.of("reference") + repair
        }
        let more = counts.values.reduce(0, +) - findings.count
        if more > 0 { lines.append("and \(more) more") }
        lines.append(
            "\(location.sanitizedForTerminal): \(objects.of("object"))\(sizeClause(bytes)), "
                + "\(references.of("reference")): \(verdict(paint))")
        if unreferenced > 0 {
            let count = unreferenced.of("object")
            lines.append("\(count) without a reference, which an eviction of the remote removes")
        }
        if foreign > 0 { lines.append("\(foreign.of("other file")) ignored") }
        if isInterrupted { lines.append("interrupted: the rest was not verified") }
        if !isSound, !isRepair {
            let option = String.shellOption("--remote", location.sanitizedForTerminal)
            lines.append(
                "to restore damaged objects from the cache, or remove them: "
                    + Suggestion.command("remote verify \(option) --repair"))
        }
        return lines.joined(separator: "\n")
    }

    package var complaint: String { "\(location.sanitizedForTerminal): \(verdict(.none))" }

    package var progress: ProgressText {
        var text = ProgressText()
        text.add(objects.of("object"), rank: 0)
        text.add(ByteText.describe(bytes), rank: 2)
        text.add(references.of("reference"), rank: 1)
        return text
    }

    private func verdict(_ paint: Paint) -> String {
        let parts = Finding.Kind.allCases.compactMap { kind in
            counts[kind].map { "\(kind.rawValue) \($0)" }
        }
        guard !parts.isEmpty else {
            return isInterrupted ? "no problems so far" : paint.clean("clean")
        }
        let found = paint.failed(parts.joined(separator: ", "))
        return repaired > 0 ? "\(found), repaired \(repaired)" : found
    }

    package var json: JSONObject {
        var object: JSONObject = [
            "location": location, "objects": objects, "bytes": bytes, "references": references,
        ]
        for kind in Finding.Kind.allCases { object.set(kind.rawValue, counts[kind, default: 0]) }
        let details = findings.map { finding -> JSONObject in
            [
                "kind": finding.kind.rawValue, "digest": finding.digest.description,
                "references": finding.references, "repair": finding.repair?.rawValue,
            ]
        }
        object.set([
            "repaired": repaired, "unreferenced": unreferenced, "foreign": foreign,
            "findings": details, "seconds": seconds, "interrupted": isInterrupted,
        ])
        return object
    }
}

extension RemoteEvictionReport {
    package func text(isPart: Bool) -> String {
        if objects == 0, references == 0, !isInterrupted {
            return location.textOfEmptyRemote(isPart: isPart)
        }
        let removed = isDryRun ? "would remove" : "removed"
        let reasons = nonzero([
            (expired, "\(expired) too old"), (replaced, "\(replaced) replaced"),
        ]).joined(separator: ", ")
        let removals = nonzero([
            (evictedObjects, "\(evictedObjects.of("object")) (\(ByteText.describe(evictedBytes)))"),
            (expired + replaced, "\((expired + replaced).of("reference")) (\(reasons))"),
        ])
        var lines = [
            "\(location.sanitizedForTerminal): \(objects.of("object"))\(sizeClause(bytes)), "
                + references.of("reference"),
            "\(removed) " + removals.joined(separator: " and "),
        ]
        if undone > 0 {
            lines.append(
                "\(removed) \(undone.of("reference")) to missing objects: the next prefetch "
                    + "downloads them again")
        }
        if isInterrupted { lines.append("interrupted: the next run continues") }
        return lines.joined(separator: "\n")
    }

    package var progress: ProgressText {
        var text = ProgressText()
        text.add(objects.of("object"), rank: 0)
        text.add(references.of("reference"), rank: 1)
        text.add("\(evictedObjects) removed", rank: 2)
        return text
    }

    package var json: JSONObject {
        [
            "location": location, "dry_run": isDryRun, "objects": objects, "bytes": bytes,
            "references": references, "expired": expired, "replaced": replaced,
            "evicted_objects": evictedObjects, "evicted_bytes": evictedBytes, "undone": undone,
            "seconds": seconds, "interrupted": isInterrupted,
        ]
    }
}
