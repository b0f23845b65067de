import LarderCore
import LarderManifest
import LarderPrefetch

/// The messages of a prefetch, printed one by one, or with `--quiet` in one line at the end.
struct PrefetchConsole {
    enum Purpose { case prefetch, push, pull }

    let purpose: Purpose
    let output: ReportOptions
    var isVerbose = false
    var hasReport = false
    var isOutputTaken = false
    var allowance = FailureAllowance.none
    let colors: ColorOptions
    let line: ProgressLine
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
                let complaint = result.complaint(colors.errors)
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
                Console.write(report.text(of: purpose, colors.errors) + "\n")
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
            let command =
                sources.allSatisfy(\.canBeReadAgain) && names.allSatisfy(Self.canBeTyped)
                ? Suggestion.command("prefetch \(list) --retry-failed")
                : "a prefetch of the same \(names.count == 1 ? "manifest" : "manifests") "
                    + "with --retry-failed, with the same options"
            ways.append("to retry the failed icons: \(command)")
        }
        if !hasReport { ways.append("to list all icons: --report FILE") }
        return ways.isEmpty ? nil : ways.joined(separator: "; ")
    }

    /// Whether a name means the same manifest in a later command, unlike `/dev/fd/63`.
    private static func canBeTyped(_ name: String) -> Bool {
        !["-", "/dev/std", "/dev/fd/"].contains { name.utf8.starts(with: $0.utf8) }
            && name.shownAsURL.isSame(as: name)
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

/// The first failures of each code are shown, and others are counted by host.
struct FailureGroups {
    private static let shownPerCode = 5
    private static let maximumHosts = 8
    /// Limits memory, because each icon may have a different host.
    private static let maximumGroups = 4096

    private var shown: [String: Int] = [:]
    private var rest: [String: [String: Int]] = [:]
    private var others: [String: Int] = [:]

    mutating func add(_ code: String, at url: String?) -> Bool {
        if shown[code, default: 0] < Self.shownPerCode {
            shown[code, default: 0] += 1
            return true
        }
        let host = url?.hostAndPort ?? ""
        let groups = rest.values.reduce(0) { $0 + $1.count }
        if rest[code]?[host] != nil || groups < Self.maximumGroups {
            rest[code, default: [:]][host, default: 0] += 1
        } else {
            others[code, default: 0] += 1
        }
        return false
    }

    var lines: [String] { Set(rest.keys).union(others.keys).sorted().flatMap(lines) }

    private func lines(of code: String) -> [String] {
        let sorted = rest[code, default: [:]].sorted { ($1.value, $0.key) < ($0.value, $1.key) }
        // A single remaining host is shown, because "1 other host" would be as long.
        let limit = Self.maximumHosts
        let named = sorted.prefix(sorted.count == limit + 1 ? limit + 1 : limit)
        var lines = named.map { host, count in
            let place = host.isEmpty ? "" : " at \(host.sanitizedForTerminal)"
            return "\(code): \(count) more\(place)"
        }
        let unnamed = sorted.dropFirst(named.count).reduce(0) { $0 + $1.value }
        let uncounted = others[code, default: 0]
        if unnamed + uncounted > 0 {
            let place =
                uncounted > 0 ? "other hosts" : (sorted.count - named.count).of("other host")
            lines.append("\(code): \(unnamed + uncounted) more at \(place)")
        }
        return lines
    }
}

/// Messages that several failed entries have in common, each shown once.
struct CommonFailures {
    private static let maximumConflicts = 4096

    private var conflicts: Set<String> = []

    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.integrityConflict.rawValue else { return true }
        return conflicts.count >= Self.maximumConflicts || conflicts.insert(message).inserted
    }
}
