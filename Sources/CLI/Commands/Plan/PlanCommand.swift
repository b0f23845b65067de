import ArgumentParser
import Foundation
import LarderCache
import LarderCore
import LarderManifest
import LarderPrefetch

struct PlanCommand: NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", _superCommandName: "larder",
        abstract: "Preview a prefetch without using the network.",
        discussion: """
            A manifest at a URL is read from the cache, as the last prefetch stored it.

            Prints one line for each icon: first the icons to request, by priority, then the \
            others. Otherwise, the order is that of the manifest. A line has the status (missing, \
            stale, cached, skipped or failed), past failures, priority, URL and name. The line of \
            an invalid entry has the position in the manifest and the error. Private addresses \
            are not detected. Network options have an effect only if they change the request \
            headers.

            EXAMPLES:
              # Show which icons a prefetch would request.
              larder plan apps.json
              # Show how a manifest is read.
              larder plan apps.json --explain --quiet
              # Fail if an icon of a catalogue is missing or not an image.
              larder plan apps.json --health --fail-on missing,not-an-image
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Health report") var health: HealthOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Revalidation and failures") var revalidation: RevalidationOptions
    @OptionGroup(title: "Requests", visibility: .rare) var requests: RequestOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions

    @Flag(
        help: """
            Print one JSON line for each icon, and a last line with the counts and the values at \
            all icon paths of the manifests.
            """)
    var json = false

    @Flag(
        help: """
            Show the detected format and shape of each manifest, the paths used, and icons that \
            were not read.
            """)
    var explain = false

    @Flag(name: .shortAndLong, help: "Print only the counts.") var quiet = false

    func validate() throws {
        try manifest.validate(perHost: requests.maxPerHost)
        let format = health.format ?? .json
        for (option, other, areUsed) in [
            ("--json", "--format \(format)", json && format != .json),
            ("--health", "--explain", health.isOn && explain),
            ("--health", "--force", health.isOn && revalidation.force),
            ("--health", "--retry-failed", health.isOn && revalidation.retryFailed),
            ("--icon-files", "--base-url", health.iconFiles != nil && reading.entry.baseURL != nil),
        ] where areUsed { throw ValidationError("\(option) and \(other) cannot be combined.") }
    }

    func run() async throws {
        var configuration = try prefetchConfiguration(reading.rules())
        configuration.acceptsAnyContent = manifest.anyContent
        revalidation.apply(to: &configuration.policy)
        configuration.shard = try manifest.shard
        let planner = Planner(configuration, cache: try cache.openIfThere())
        let sources = try manifest.sources()
        if health.isOn { return try report(on: sources, by: planner) }
        var common = CommonFailures()
        let paint = colors.output
        let line = Console.statusLine.start(isQuiet: quiet)
        func conclude(_ plan: Plan) throws {
            let summary = plan.summary
            line.clear()
            (summary.complaints(of: sources) + summary.notes(of: sources)).forEach(Console.complain)
            summary.splitComplaint.map(Console.complain)
            if explain {
                for (source, read) in zip(sources, summary.manifests) {
                    print(json ? read.json(of: source).text : read.text(of: source))
                }
            }
            guard !json else { return try summary.printJSON(quiet ? nil : plan) }
            print(summary.text(paint))
            if !quiet { summary.unfetched.unfetchedLines.forEach { print($0) } }
        }
        let summary = try planner.plan(
            sources, keepsValues: json && !quiet,
            quiet
                ? nil
                : { entry in
                    line.clear()
                    if json {
                        print(entry.json.text)
                    } else if common.isNew(entry.failure?.code, entry.failure?.message) {
                        print(entry.text(paint))
                    }
                }, conclude: conclude
        ) { line.show($0.text) }
        if summary.failed > 0 { try ExitStatus.someFailed.exit() }
    }
}

extension PlanSummary {
    package func text(_ paint: Paint = .none) -> String {
        var notes: [String] = []
        if insecure > 0 { notes.append("plain http \(insecure)") }
        if skipped > 0 { notes.append("skipped \(skipped)") }
        if failed > 0 { notes.append(paint.failed("failed \(failed)")) }
        if otherShards > 0 { notes.append("left to other shards \(otherShards)") }
        let counts = [
            (cached, "cached \(cached)"), (stale, paint.stale("stale \(stale)")),
            (missing, "missing \(missing)"), (remembered, "recently gone \(remembered)"),
            (leftAlone, "excluded by --retry-failed \(leftAlone)"),
        ].filter { $0.0 > 0 }.map { $0.1 }
        let several = icons > entries ? ", \(icons.of("icon", "icons"))" : ""
        return entries.of("entry", "entries") + several
            + (notes.isEmpty ? "" : " (\(notes.joined(separator: ", ")))")
            + "; \(urls.of("URL"))\(counts.isEmpty ? "" : ": ")" + counts.joined(separator: ", ")
    }

    package func complaints(of sources: [ManifestSource]) -> [String] {
        zip(sources, manifests).flatMap { source, manifest in
            manifest.refusal(of: source).map { [$0.description] } ?? manifest.warnings(of: source)
        }
    }

    package func notes(of sources: [ManifestSource]) -> [String] {
        zip(sources, manifests).flatMap { $1.notes(of: $0) }
    }

    package var splitComplaint: String? {
        guard !unusedSplits.isEmpty else { return nil }
        return "--split-host: the manifests have no icons on "
            + unusedSplits.sorted().joined(separator: ", ")
    }

    /// Prints one value at a time, because a manifest may have a million values.
    func printJSON(_ plan: Plan?) throws {
        let object: JSONObject = [
            "entries": entries, "urls": urls, "cached": cached, "stale": stale, "missing": missing,
            "skipped": skipped, "failed": failed, "remembered": remembered, "left_alone": leftAlone,
            "icons": icons, "insecure": insecure, "unsupported": unsupported,
            "other_shards": otherShards, "unread": unread, "unfetched": unfetched,
        ]
        Console.add("\(object.text.dropLast()),\"values\":")
        guard let plan else { return print("null}") }
        var separator = "["
        try plan.forEachValue { manifest, position, kind, text in
            var value: JSONObject = [
                "manifest": manifest.sanitizedForTerminal, "position": position,
            ]
            value.set("value", exactly: text)
            value.set("kind", kind)
            Console.add(separator + value.text)
            separator = ","
        }
        print((separator == "[" ? "[" : "") + "]}")
    }
}

extension PlanProgress {
    package var text: ProgressText {
        var text = ProgressText()
        guard let manifest else {
            text.add("comparing \(icons.of("icon")) with the cache", rank: 1)
            return text
        }
        let name = manifest.sanitizedForTerminal
        text.add("reading \(name)", "reading", rank: 3)
        text.add(icons.of("icon"), rank: 0)
        text.add("\(Int(iconsPerSecond))/s", rank: 2)
        if let secondsLeft { text.add("\(DurationText.describe(secondsLeft)) left", rank: 1) }
        return text
    }
}

extension PlannedEntry {
    package func text(_ paint: Paint = .none) -> String {
        let statusWord =
            switch statusWord {
            case "failed": paint.failed(statusWord)
            case "stale": paint.stale(statusWord)
            default: statusWord
            }
        if let failure { return text(statusWord, failure.message) }
        let label = name.isEmpty ? "" : "  \(name.sanitizedForTerminal)"
        let mark = isDuplicate ? " (duplicate)" : ""
        let past = lastFailure.map { " (\($0.text))" } ?? ""
        return "\(statusWord)\(mark)\(past)  \(priority)  \((url ?? "").shownAsURL)\(label)"
    }

    func text(_ word: String, _ message: String) -> String {
        let label = name.isEmpty ? "" : "  \(name.sanitizedForTerminal)"
        let place = url.map { "  \($0.shownAsURL)" } ?? ""
        return "\(word)  \(manifest.sanitizedForTerminal): entry \(position)\(label)\(place)"
            + "  \(message.sanitizedForTerminal)"
    }

    package var json: JSONObject {
        [
            "manifest": manifest.sanitizedForTerminal, "position": position,
            "name": name.sanitizedForTerminal, "url": url?.shownAsURL, "status": statusWord,
            "priority": priority, "duplicate": isDuplicate,
            "error": failure.map { JSONObject(errorCode: $0.code, message: $0.message) },
            "last_failure": lastFailure?.json, "icon_number": icon,
        ]
    }
}

extension PastFailure {
    var text: String {
        count == 1
            ? "failed once, \(code) \(age) ago" : "failed \(count) times, last \(code) \(age) ago"
    }

    fileprivate var json: JSONObject {
        [
            "code": code, "status": status, "failed_at": failedAt.timeIntervalSince1970,
            "count": count,
        ]
    }
}

extension ManifestSummary {
    package func text(of source: ManifestSource) -> String {
        var lines = [
            "\(source.name.sanitizedForTerminal): \(format.rawValue),"
                + " \(places?.shape ?? "unknown shape"), \(entries.of("entry", "entries"))"
        ]
        lines += suggestions.map { "  did you mean: \($0.options) (\($0.count))" }
        let unread = unreadPlaces.map { "\($0.path.sanitizedForTerminal) (\($0.count))" }
        if !unread.isEmpty { lines.append("  not read: \(unread.joined(separator: ", "))") }
        guard let places else { return lines.joined(separator: "\n") }
        func add(_ label: String, _ paths: [ManifestPath]) {
            guard !paths.isEmpty else { return }
            let shown = paths.map { "\($0)".sanitizedForTerminal }.joined(separator: ", ")
            lines.append("  \(label): \(shown)")
        }
        add("entries", places.entries)
        add("name", places.names)
        add("icons", places.icons)
        if let template = places.template?.maskingSecrets.sanitizedForTerminal {
            lines.append("  icon template: \(template)")
        }
        add("priority", places.priority.map { [$0] } ?? [])
        add("integrity", places.integrity.map { [$0] } ?? [])
        if let base = places.base { lines.append("  base: \(base)") }
        return lines.joined(separator: "\n")
    }

    package func json(of source: ManifestSource) -> JSONObject {
        func text(_ path: ManifestPath?) -> String? { path.map { "\($0)".sanitizedForTerminal } }
        func texts(_ paths: [ManifestPath]?) -> [String] { (paths ?? []).compactMap(text) }
        return [
            "manifest": source.name.sanitizedForTerminal, "format": format.rawValue,
            "shape": places?.shape, "entries": entries, "entries_paths": texts(places?.entries),
            "name_paths": texts(places?.names), "icon_paths": texts(places?.icons),
            "icon_template": places?.template?.maskingSecrets.sanitizedForTerminal,
            "priority_path": text(places?.priority), "integrity_path": text(places?.integrity),
            "base": places?.base?.description, "suggestions": suggestions.map(\.options),
            "unread": unread, "unread_paths": unreadPlaces.map(\.path.sanitizedForTerminal),
        ]
    }
}
