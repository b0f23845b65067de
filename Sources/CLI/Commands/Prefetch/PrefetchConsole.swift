import LarderCore
import LarderManifest
import LarderPrefetch

/// The messages of a prefetch, printed one by one, or with `--quiet` in one line at the end.
struct PrefetchConsole {
    enum Purpose { case prefetch, push, pull }

    let purpose: Purpose
    let output: RunOptions
    var isVerbose = false
    var hasReport = false
    var isOutputTaken = false
    var allowance = FailureAllowance.none
    let colors: ColorChoice
    lazy var paint = colors.errors
    let line = Console.statusLine
    var notes: [String] = []
    var firstFailure: String?
    var common = CommonFailures()
    var groups = FailureGroups()
    var remedies: [(manifest: String, text: String)] = []
    private var isGrouping: Bool { Terminal.isThere && !isVerbose }

    mutating func say(_ event: PrefetchEvent, of sources: [ManifestSource]) {
        switch event {
        case .recovered(let recovery): complain([recovery.text])
        case .planning(let progress): line.show(progress.text)
        case .planned(let summary):
            line.clear()
            complain(summary.complaints(of: sources))
            remedies = zip(sources, summary.manifests).map {
                ($0.name, $1.remedyForDemands(of: $0))
            }
            if !output.quiet {
                summary.notes(of: sources).forEach(Console.complain)
                // An unused --split-host is not an error, because redirects may lead to its host.
                summary.splitComplaint.map(Console.complain)
            }
            var progress = Progress()
            progress.total = summary.missing + summary.stale
            line.show(progress.text)
        case .entry(let result):
            guard let failure = result.failure,
                let complaint = result.complaint(paint)
            else { return }
            if firstFailure == nil { firstFailure = result.complaint() }
            let isNew = common.isNew(failure.code, failure.message)
            if isNew, !output.quiet, !isGrouping || groups.add(failure.code, at: result.url) {
                Console.writeMessage("larder: \(complaint)")
            }
        case .progress(let progress): line.show(progress.text)
        case .finished(let report):
            line.clear()
            groups.lines.forEach(Console.complain)
            if isOutputTaken, !output.json, !output.quiet {
                Console.write(report.text(of: purpose, paint) + "\n")
            } else {
                output.write(
                    json: report.json, text: report.text(of: purpose, colors.output),
                    complaint: nil)
            }
            if isGrouping, !output.quiet, let remedy = remedy(report, sources) {
                Console.complain(remedy)
            }
        }
    }

    func conclude(_ report: Report, unwritten lock: String?) {
        let demands = remedies.filter { report.foreignDemands.contains($0.manifest) }.map(\.text)
        let last = [
            complaint(report), remoteComplaint(report), lock.map { unwritten($0, report) },
        ].compactMap(\.self)
        let all = notes + last + demands
        if !all.isEmpty { Console.complain(all.joined(separator: "; ")) }
    }

    private mutating func complain(_ complaints: [String]) {
        if output.quiet { notes += complaints } else { complaints.forEach(Console.complain) }
    }

    private func remedy(_ report: Report, _ sources: [ManifestSource]) -> String? {
        guard !report.isInterrupted, report.failure == nil, report.count(.failed) > 0 else {
            return nil
        }
        guard purpose == .prefetch else {
            guard let remote = report.remote, !remote.faults.isEmpty else { return nil }
            let location = String.shellOption("--remote", remote.location)
            return "to repair the remote from a cache with these icons: "
                + Suggestion.command("remote verify \(location) --repair")
        }
        var ways: [String] = []
        if report.hasRetriableFailures {
            let names = sources.map(\.name)
            let list = names.map(\.shellArgument).joined(separator: " ")
            // A name such as `/dev/fd/63` does not mean the same manifest in a later command.
            let canBeTyped = names.allSatisfy { name in
                !["-", "/dev/std", "/dev/fd/"].contains { name.utf8.starts(with: $0.utf8) }
                    && name.shownAsURL.isSame(as: name)
            }
            let command =
                sources.allSatisfy(\.canBeReadAgain) && canBeTyped
                ? Suggestion.command("prefetch \(list) --retry-failed")
                : "a prefetch of the same \(names.count == 1 ? "manifest" : "manifests") "
                    + "with --retry-failed and the same options"
            ways.append("to retry the failed icons: \(command)")
        }
        if !hasReport { ways.append("to list all icons: --report FILE") }
        return ways.isEmpty ? nil : ways.joined(separator: "; ")
    }

    private func unwritten(_ lock: String, _ report: Report) -> String {
        let lacking = report.count(.failed) + report.count(.unfinished)
        let reason =
            lacking > 0
            ? "\(lacking) of \(report.icons.of("icon")) \(lacking == 1 ? "is" : "are") missing"
            : "the run did not finish"
        return "--write-lock '\(lock)': not written, because \(reason)"
    }

    private func complaint(_ report: Report) -> String? {
        let all = "\(report.icons) \(report.icons > report.entries ? "icons" : "entries")"
        if output.quiet, report.isInterrupted {
            return "interrupted: \(report.count(.unfinished)) of \(all) unfinished"
        }
        if output.quiet, let failure = report.failure { return "\(failure)" }
        let failed = report.count(.failed)
        guard !report.isInterrupted, report.failure == nil,
            !allowance.covers(failed, of: report.icons), output.quiet || allowance != .none
        else { return nil }
        var text = "\(failed) of \(all) failed"
        if allowance != .none { text += ", more than --max-failures \(allowance) allows" }
        if output.quiet, let firstFailure { text += "; first failure: \(firstFailure)" }
        return text
    }

    private func remoteComplaint(_ report: Report) -> String? {
        guard output.quiet, let remote = report.remote, !remote.isComplete else { return nil }
        let subject = remote.unpushed > 0 ? "\(remote.unpushed) not stored in the remote" : "remote"
        return [subject, remote.failure ?? remote.firstFault].compactMap(\.self)
            .joined(separator: ": ")
    }
}

/// Failure counts by code and host. The first failures of each code are shown individually.
struct FailureGroups {
    private static let shownPerCode = 5
    private static let maximumHosts = 8
    /// Limits memory, because each icon may have a different host.
    private static let maximumGroups = 4096

    private struct Group: Hashable {
        let code: String
        /// Nil for hosts beyond the limit.
        var host: String?
    }

    private var shown: [String: Int] = [:]
    private var rest: [Group: Int] = [:]

    mutating func add(_ code: String, at url: String?) -> Bool {
        if shown[code, default: 0] < Self.shownPerCode {
            shown[code, default: 0] += 1
            return true
        }
        var group = Group(code: code, host: url?.hostAndPort ?? "")
        if rest[group] == nil, rest.count >= Self.maximumGroups { group.host = nil }
        rest[group, default: 0] += 1
        return false
    }

    var lines: [String] { Set(rest.keys.map(\.code)).sorted().flatMap { lines(of: $0) } }

    private func lines(of code: String) -> [String] {
        let groups = rest.filter { $0.key.code == code }
        let sorted = groups.compactMap { key, count in key.host.map { (host: $0, count: count) } }
            .sorted { ($1.count, $0.host) < ($0.count, $1.host) }
        // If only one host remains, it is shown too, because "1 other host" would be as long.
        let limit = Self.maximumHosts
        let named = sorted.prefix(sorted.count == limit + 1 ? limit + 1 : limit)
        var lines = named.map { host, count in
            "\(code): \(count) more" + (host.isEmpty ? "" : " at \(host.sanitizedForTerminal)")
        }
        let uncounted = groups[Group(code: code, host: nil), default: 0]
        let unnamed = sorted.dropFirst(named.count).reduce(uncounted) { $0 + $1.count }
        if unnamed > 0 {
            let place =
                uncounted > 0 ? "other hosts" : (sorted.count - named.count).of("other host")
            lines.append("\(code): \(unnamed) more at \(place)")
        }
        return lines
    }
}

struct CommonFailures {
    private static let maximumConflicts = 4096

    private var conflicts: Set<String> = []

    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.integrityConflict.rawValue else { return true }
        return conflicts.count >= Self.maximumConflicts || conflicts.insert(message).inserted
    }
}

extension Report {
    func text(of purpose: PrefetchConsole.Purpose, _ paint: Paint) -> String {
        let failed = (count(.failed), paint.failed("failed \(count(.failed))"))
        let time = DurationText.describe(seconds)
        let sorted = failures.sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        let causes =
            sorted.map { "  failed, \($0.key): \($0.value)" } + plan.unfetched.unfetchedLines
        var lines: [String]
        if purpose != .prefetch, let remote {
            let counts =
                purpose == .push
                ? remote.pushedCounts(paint)
                : [
                    remote.pulledCount, part(.cached, "already cached"),
                    part(.fetched, "embedded in the manifest"),
                ]
            let others = [failed, part(.skipped, "skipped"), part(.unfinished, "unfinished")]
            lines = [remote.line(counts + others) + ", in \(time)"] + causes
            if purpose == .push { lines += remote.faultLines(paint) }
        } else {
            let unstored = "not stored \(count(.unstored)) (no-store; to store: --store-anyway)"
            let counts = nonzero([
                part(.fetched, "fetched"), part(.pulled, "pulled"), part(.shared, "in the remote"),
                part(.revalidated, "revalidated"), part(.cached, "already cached"),
                part(.coalesced, "coalesced"), failed, (count(.unstored), unstored),
                part(.skipped, "skipped"), part(.unfinished, "unfinished"),
                (plan.otherShards, "left to other shards \(plan.otherShards)"),
            ])
            let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
            let all = "\(entries.of("entry", "entries"))\(several): "
            lines = [all + counts.joined(separator: ", ")] + causes
            let received = "\(ByteText.describe(receivedBytes)) received in "
            lines.append((receivedBytes > 0 ? received : "took ") + time)
            if let remote {
                lines.append(remote.line([remote.pulledCount] + remote.pushedCounts(paint)))
                lines += remote.faultLines(paint)
            }
        }
        if let failure = remote?.failure?.sanitizedForTerminal {
            lines.append("\(paint.failed("remote stopped")): \(failure); the next run continues")
        }
        if isInterrupted { lines.append(.interrupted) }
        if let failure = failure?.description.sanitizedForTerminal {
            lines.append("\(paint.failed("stopped")): \(failure); stored icons are kept")
        }
        return lines.joined(separator: "\n")
    }

    private func part(_ outcome: EntryResult.Outcome, _ label: String) -> (Int, String) {
        (count(outcome), "\(label) \(count(outcome))")
    }

    package var json: JSONObject {
        var object: JSONObject = ["entries": entries]
        for outcome in EntryResult.Outcome.allCases { object.set(outcome.rawValue, count(outcome)) }
        object.set([
            "failures": failures, "received_bytes": receivedBytes, "seconds": seconds,
            "interrupted": isInterrupted, "error": failure?.json, "icons": icons,
            "other_shards": plan.otherShards, "remote": remote?.json, "unread": plan.unread,
            "unfetched": plan.unfetched,
        ])
        return object
    }
}

extension [String: Int] {
    /// Returns a count and advice for each kind of icon that is never fetched.
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
    func line(_ counts: [(Int, String)]) -> String {
        "\(location.sanitizedForTerminal): " + nonzero(counts).joined(separator: ", ")
    }

    var pulledCount: (Int, String) { (pulled, "pulled \(pulled)" + Self.size(pulledBytes)) }

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
        let label = entry.name.isEmpty ? "" : " \(entry.name.sanitizedForTerminal)"
        let place = entry.url.map { " \($0.shownAsURL)" } ?? ""
        return "\(entry.manifest.sanitizedForTerminal): entry \(entry.position)\(label):\(place)"
            + " \(paint.failed(failure.code)): \(failure.message.sanitizedForTerminal)"
    }

    package var json: JSONObject {
        [
            "manifest": entry.manifest.sanitizedForTerminal, "position": entry.position,
            "name": entry.name.sanitizedForTerminal, "url": entry.url?.shownAsURL,
            "outcome": outcome.rawValue, "digest": digest?.description, "bytes": bytes,
            "media_type": attributes.mediaType, "width": attributes.width,
            "height": attributes.height, "attempts": attempts, "seconds": seconds,
            "error": failure.map { JSONObject(errorCode: $0.code, message: $0.message) },
            "icon_number": entry.icon,
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
    static let interrupted = "interrupted: finished work is kept"

    func textOfEmptyRemote(isPart: Bool) -> String {
        "no icons \(isPart ? "in this part of" : "at") \(sanitizedForTerminal)"
    }
}
