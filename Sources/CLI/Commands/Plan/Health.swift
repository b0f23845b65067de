import ArgumentParser
import LarderCore
import LarderManifest
import LarderPrefetch

struct HealthOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable { case text, json, junit }

    private static let kinds = HealthFinding.Kind.allCases.map(\.rawValue)

    @Flag(
        name: .customLong("health"),
        help: "Show problems with the catalogue and its icons, one per line. Run prefetch first.")
    var isOn = false

    @Option(help: "The format of --health. (default: text)") var format: Format?

    @Option(
        help: .common(
            "Exit with status 2 if --health finds one of these kinds: "
                + kinds.joined(separator: ", ") + ".", "kind,..."),
        completion: .list(kinds),
        transform: { (list: String) -> [HealthFinding.Kind] in
            try list.split(separator: ",", omittingEmptySubsequences: false).map { name in
                if let kind = HealthFinding.Kind(rawValue: String(name)) { return kind }
                throw ValidationError("expected one or more of \(kinds.joined(separator: ", "))")
            }
        })
    var failOn: [[HealthFinding.Kind]] = []

    @Option(help: .common("The width of displayed icons in points, to find oversized icons.", "n"))
    var shownSize: Int?

    @Option(help: .common("The number of pixels per point for --shown-size. (default: 2)", "n"))
    var scale: Int?

    @Option(
        help: .common("With --health, check the files of relative icons in this directory.", "dir"),
        completion: .directory)
    var iconFiles: String?

    func validate() throws {
        for (option, isUsed) in [
            ("--format", format != nil), ("--fail-on", !failOn.isEmpty),
            ("--shown-size", shownSize != nil), ("--icon-files", iconFiles != nil),
        ] where isUsed && !isOn { throw ValidationError("\(option) needs --health.") }
        if shownSize == nil, scale != nil { throw ValidationError("--scale needs --shown-size.") }
        if shownSize == nil, failOn.joined().contains(.oversized) {
            throw ValidationError("--fail-on oversized needs --shown-size.")
        }
        guard 1...100_000 ~= shownSize ?? 1, 1...100 ~= scale ?? 1 else {
            throw ValidationError("--shown-size must be from 1 to 100000, --scale from 1 to 100.")
        }
    }
}

extension PlanCommand {
    func report(on sources: [ManifestSource], by planner: Planner) throws {
        if let directory = health.iconFiles { try MissingInputError.checkDirectory(directory) }
        let line = Console.statusLine.start(isQuiet: quiet)
        let failing = Set(health.failOn.joined())
        try planner.health(
            of: sources, shownPixels: health.shownSize.map { $0 * (health.scale ?? 2) },
            filesIn: health.iconFiles, onProgress: { line.show($0.text) }
        ) { summary, report in
            line.clear()
            (summary.complaints(of: sources) + summary.notes(of: sources)).forEach(Console.complain)
            if health.iconFiles != nil, report.files == 0 {
                Console.complain("--icon-files: no icon has a relative name that needs a base URL")
            }
            let (format, paint) = (health.format ?? (json ? .json : .text), colors.output)
            for kind in HealthFinding.Kind.allCases where !quiet && format != .junit {
                try report.forEach(kind) { print(format == .json ? $0.json.text : $0.text(paint)) }
            }
            switch format {
            case .junit: try report.printJUnit(failing: failing)
            case .json: print(report.json.text)
            case .text:
                if !quiet { report.hostLines.forEach { print($0) } }
                print(report.text)
                if !quiet { report.unfetched.unfetchedLines.forEach { print($0) } }
            }
            if !failing.isDisjoint(with: report.counts.keys) { try ExitStatus.someFailed.exit() }
        }
    }
}

extension HealthReport {
    var hostLines: [String] {
        otherHosts.map { "third-party  \($0.host)  \($0.icons.of("icon")), not \(ownHost ?? "")" }
    }

    var text: String {
        let kinds = HealthFinding.Kind.allCases.compactMap { kind in
            counts[kind].map { "\(kind.rawValue) \($0)" }
        }
        return entries.of("entry", "entries") + ", \(icons.of("icon")): "
            + (kinds.isEmpty ? "no findings" : kinds.joined(separator: ", "))
    }

    var json: JSONObject {
        var kinds = JSONObject()
        for kind in HealthFinding.Kind.allCases { kinds.set(kind.rawValue, counts[kind] ?? 0) }
        let hosts = Dictionary(otherHosts.map { ($0.host, $0.icons) }) { $1 }
        return [
            "entries": entries, "icons": icons, "findings": kinds, "own_host": ownHost,
            "third_party": hosts, "unfetched": unfetched,
        ]
    }

    /// Findings of kinds outside `failing`, and icons that are never fetched, become skipped tests.
    func printJUnit(failing: Set<HealthFinding.Kind>) throws {
        typealias Suite = HealthFinding.Kind?
        let suites: [Suite] = HealthFinding.Kind.allCases + [nil]
        func count(_ kind: Suite) -> Int { kind.map { counts[$0, default: 0] } ?? unfetched.count }
        func failed(_ kind: Suite) -> Int { kind.map(failing.contains) == true ? count(kind) : 0 }
        func totals(_ suites: [Suite]) -> String {
            let tests = suites.reduce(0) { $0 + max(count($1), 1) }
            let failures = suites.reduce(0) { $0 + failed($1) }
            return #"tests="\#(tests)" failures="\#(failures)" errors="0" time="0""#
        }
        print(#"<?xml version="1.0" encoding="UTF-8"?>"#)
        print(#"<testsuites name="larder" \#(totals(suites))>"#)
        for kind in suites {
            let name = kind?.rawValue ?? "unfetched"
            let element = failed(kind) > 0 ? #"failure type="\#(name)""# : "skipped"
            func printTest(_ place: String, _ title: String, _ message: String) {
                let (place, title) = (place.escapedForXML, title.escapedForXML)
                print(
                    #"<testcase classname="\#(place)" name="\#(title)" time="0">"#
                        + #"<\#(element) message="\#(message.escapedForXML)"/></testcase>"#)
            }
            let skipped = count(kind) - failed(kind)
            print(#"<testsuite name="\#(name)" \#(totals([kind])) skipped="\#(skipped)">"#)
            if count(kind) == 0 {
                print(#"<testcase classname="larder" name="\#(name)" time="0"/>"#)
            }
            if let kind {
                try forEach(kind) { finding in
                    let entry = finding.entry
                    let label = entry.name.isEmpty ? "" : ": \(entry.name)"
                    let url = entry.url.map { "\($0.shownAsURL): " } ?? ""
                    printTest(
                        entry.manifest, "entry \(entry.position), icon \(entry.icon)\(label)",
                        url + finding.message)
                }
            } else {
                for (kind, note) in unfetched.notes {
                    printTest("icons", kind, "not fetched: \(note)")
                }
            }
            for other in kind == .thirdParty ? otherHosts : [] {
                printTest("hosts", other.host, "\(other.icons.of("icon")), not \(ownHost ?? "")")
            }
            print("</testsuite>")
        }
        print("</testsuites>")
    }
}

extension HealthFinding {
    func text(_ paint: Paint) -> String {
        entry.text(kind == .failed ? paint.failed(kind.rawValue) : kind.rawValue, message)
    }

    var json: JSONObject {
        [
            "kind": kind.rawValue, "manifest": entry.manifest.sanitizedForTerminal,
            "position": entry.position, "icon_number": entry.icon,
            "name": entry.name.sanitizedForTerminal, "url": entry.url?.shownAsURL,
            "message": message.sanitizedForTerminal,
        ]
    }
}

extension String {
    /// XML 1.0 does not allow control characters, even as references.
    fileprivate var escapedForXML: String {
        sanitizedForTerminal.unicodeScalars.reduce(into: "") { text, scalar in
            switch scalar {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case "\"": text += "&quot;"
            case "\u{FFFE}", "\u{FFFF}": text += "\u{FFFD}"
            default: text.unicodeScalars.append(scalar)
            }
        }
    }
}
