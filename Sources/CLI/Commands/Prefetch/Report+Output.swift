import LarderCore
import LarderManifest
import LarderPrefetch

extension Report {
    package func text(_ paint: Paint = .none) -> String {
        let unstored = "not stored \(count(.unstored)) (no-store; to store: --store-anyway)"
        let counts = nonzero([
            part(.fetched, "fetched"), part(.pulled, "pulled"), part(.shared, "in the remote"),
            part(.revalidated, "revalidated"), part(.cached, "already cached"),
            part(.coalesced, "coalesced"),
            (count(.failed), paint.failed("failed \(count(.failed))")),
            (count(.unstored), unstored), part(.skipped, "skipped"),
            part(.unfinished, "unfinished"), (otherShards, "left to other shards \(otherShards)"),
        ])
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        let all = "\(entries.of("entry", "entries"))\(several): " + counts.joined(separator: ", ")
        var lines = [all] + failureLines + unfetched.unfetchedLines
        let received = ByteText.describe(receivedBytes)
        lines.append(
            (receivedBytes > 0 ? "\(received) received in " : "took ")
                + DurationText.describe(seconds))
        if let remote { lines += remote.lines(paint) }
        lines += endLines(paint)
        return lines.joined(separator: "\n")
    }

    private func part(_ outcome: EntryResult.Outcome, _ label: String) -> (Int, String) {
        (count(outcome), "\(label) \(count(outcome))")
    }

    private var failureLines: [String] {
        failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
            .map { reason, count in "  failed, \(reason): \(count)" }
    }

    private func endLines(_ paint: Paint) -> [String] {
        var lines: [String] = []
        if isInterrupted { lines.append("interrupted: finished work is kept") }
        if let failure {
            let reason = failure.description.sanitizedForTerminal
            lines.append("\(paint.failed("stopped")): \(reason); stored icons are kept")
        }
        return lines
    }

    func text(of purpose: PrefetchConsole.Purpose, _ paint: Paint) -> String {
        guard purpose != .prefetch, let remote else { return text(paint) }
        let isPush = purpose == .push
        let counts =
            isPush
            ? remote.pushedCounts(paint)
            : [
                remote.pulledCount, part(.cached, "already cached"),
                part(.fetched, "embedded in the manifest"),
            ]
        let failed = (count(.failed), paint.failed("failed \(count(.failed))"))
        let parts = nonzero(
            counts + [failed, part(.skipped, "skipped"), part(.unfinished, "unfinished")])
        var lines = [remote.line(parts) + ", in \(DurationText.describe(seconds))"]
        lines += failureLines + unfetched.unfetchedLines
        if isPush { lines += remote.faultLines(paint) }
        lines += remote.endLines(paint) + endLines(paint)
        return lines.joined(separator: "\n")
    }

    package var json: JSONObject {
        var object: JSONObject = ["entries": entries]
        for outcome in EntryResult.Outcome.allCases { object.set(outcome.rawValue, count(outcome)) }
        object.set([
            "failures": failures, "received_bytes": receivedBytes, "seconds": seconds,
            "interrupted": isInterrupted, "error": failure?.json, "icons": icons,
            "other_shards": otherShards, "remote": remote?.json, "unread": unread,
            "unfetched": unfetched,
        ])
        return object
    }
}

extension [String: Int] {
    /// For each kind of icon that is never fetched, the number of icons and advice.
    var notes: [(kind: String, note: String)] {
        let advice = [
            "icon-set": "; --icon-set maps a set to URLs",
            "relative": "; --base-url resolves them",
            "other-scheme": "; for ipfs:, use --ipfs-gateway",
            "not-in-manifest": "; --icon-template built their URLs, so no value can change",
        ]
        return sorted { $0.key < $1.key }
            .map { ($0.key, "\($0.value)\(advice[$0.key, default: ""])") }
    }

    var unfetchedLines: [String] { notes.map { "  not fetched, \($0.kind): \($0.note)" } }
}

extension RemoteReport {
    func lines(_ paint: Paint) -> [String] {
        [line(nonzero([pulledCount] + pushedCounts(paint)))] + faultLines(paint) + endLines(paint)
    }

    func line(_ parts: [String]) -> String {
        "\(location.sanitizedForTerminal): " + parts.joined(separator: ", ")
    }

    var pulledCount: (Int, String) {
        (pulled, "pulled \(pulled)" + Self.size(pulledBytes))
    }

    func pushedCounts(_ paint: Paint) -> [(Int, String)] {
        [
            (pushed, "pushed \(pushed)" + Self.size(pushedBytes)),
            (present, "already there \(present)"),
            (unpushed, paint.failed("not pushed \(unpushed)")), (personal, "private \(personal)"),
        ]
    }

    private static func size(_ bytes: Int64) -> String {
        bytes > 0 ? " (\(ByteText.describe(bytes)))" : ""
    }

    func faultLines(_ paint: Paint) -> [String] {
        faults.sorted { $0.key < $1.key }.map { "  \(paint.failed($0.key)): \($0.value)" }
            + (firstFault.map { ["  first: \($0.sanitizedForTerminal)"] } ?? [])
    }

    func endLines(_ paint: Paint) -> [String] {
        guard let failure else { return [] }
        let reason = failure.sanitizedForTerminal
        return ["\(paint.failed("remote stopped")): \(reason); the next run continues"]
    }

    var json: JSONObject {
        [
            "location": location, "pulled": pulled, "pulled_bytes": pulledBytes, "pushed": pushed,
            "pushed_bytes": pushedBytes, "present": present, "unpushed": unpushed,
            "personal": personal, "faults": faults, "first_fault": firstFault, "error": failure,
        ]
    }
}

extension EntryResult {
    package func complaint(_ paint: Paint = .none) -> String? {
        guard outcome == .failed, let failure else { return nil }
        let label = name.isEmpty ? "" : " \(name.sanitizedForTerminal)"
        let place = url.map { " \($0.shownAsURL)" } ?? ""
        return "\(manifest.sanitizedForTerminal): entry \(position)\(label):\(place)"
            + " \(paint.failed(failure.code)): \(failure.message.sanitizedForTerminal)"
    }

    package var json: JSONObject {
        [
            "manifest": manifest.sanitizedForTerminal, "position": position,
            "name": name.sanitizedForTerminal, "url": url?.shownAsURL, "outcome": outcome.rawValue,
            "digest": digest?.description, "bytes": bytes, "media_type": attributes.mediaType,
            "width": attributes.width, "height": attributes.height, "attempts": attempts,
            "seconds": seconds,
            "error": failure.map { JSONObject(errorCode: $0.code, message: $0.message) },
            "icon_number": icon,
        ]
    }
}

extension Progress {
    package var text: ProgressText {
        var text = ProgressText()
        text.add("\(arrived)/\(total)", rank: 0)
        if done < arrived { text.add("\(done) stored", rank: 7) }
        if underWay > 0 { text.add("\(underWay) in flight", rank: 8) }
        if waiting > 0 {
            text.add("\(waiting) waiting to retry", "\(waiting) to retry", rank: 1)
            if let secondsToAttempt, secondsToAttempt > 0 {
                text.add("next in \(Int(secondsToAttempt.rounded(.up))) s", rank: 2)
            }
        }
        text.add(ByteText.describe(receivedBytes), rank: 6)
        text.add("\(ByteText.describe(bytesPerSecond))/s", rank: 5)
        text.add("\(failed) failed", rank: failed > 0 ? 3 : 9)
        if let secondsLeft, arrived < total {
            text.add("\(DurationText.describe(secondsLeft)) left", rank: 4)
        }
        return text
    }
}

extension String {
    func textOfEmptyRemote(isPart: Bool) -> String {
        "no icons \(isPart ? "in this part of" : "at") \(sanitizedForTerminal)"
    }
}
