import ArgumentParser
import LarderManifest
import LarderPrefetch

struct HealthOptions: ParsableArguments {
    enum Format: String, ExpressibleByArgument, CaseIterable {
        case text, json, junit
    }

    private static let kinds = HealthFinding.Kind.allCases.map(\.rawValue)

    @Flag(
        name: .customLong("health"),
        help: "Show problems of the catalogue and its icons, one per line. Run prefetch first.")
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

    @Option(help: .common("The width in points at which icons are shown, for oversized.", "n"))
    var shownSize: Int?

    @Option(help: .common("The pixels per point of --shown-size. (default: 2)", "n"))
    var scale: Int?

    @Option(
        help: .common("Check the files of relative icons in this directory, for --health.", "dir"),
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
    /// Prints the findings, and exits with status 2 if ``HealthOptions/failOn`` contains the kind
    /// of any finding.
    func report(on sources: [ManifestSource], by planner: Planner) throws {
        if let directory = health.iconFiles { try MissingInputError.checkDirectory(directory) }
        let line = ProgressLine(isQuiet: quiet)
        let failing = Set(health.failOn.joined())
        try planner.health(
            of: sources, shownPixels: health.shownSize.map { $0 * (health.scale ?? 2) },
            filesIn: health.iconFiles, onProgress: { line.show($0.text) }
        ) { summary, report in
            line.clear()
            (summary.complaints(of: sources) + summary.notes(of: sources))
                .forEach(Console.complain)
            if health.iconFiles != nil, report.files == 0 {
                Console.complain("--icon-files: no icon is a relative name without a base URL")
            }
            switch health.format ?? (json ? .json : .text) {
            case .junit: try report.writeJUnit(failing: failing) { print($0) }
            case .json:
                if !quiet { try report.forEach { print($0.json) } }
                print(report.json)
            case .text:
                let paint = colors.output
                if !quiet {
                    try report.forEach { print($0.text(paint)) }
                    report.hostLines.forEach { print($0) }
                }
                print(report.text)
                if !quiet { report.unfetched.unfetchedLines.forEach { print($0) } }
            }
            if !failing.isDisjoint(with: report.counts.keys) { try ExitStatus.someFailed.exit() }
        }
    }
}
