import ArgumentParser
import LarderCore
import LarderPrefetch

struct PlanCommand: AsyncParsableCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "plan", abstract: "Preview a prefetch without using the network.",
        discussion: """
            A manifest at a URL is read from the cache, as the last prefetch stored it.

            Prints one line for each icon: first the icons to request, in that order, then the \
            others in the order of the manifest. A line has the status (missing, stale, cached, \
            skipped or failed), past failures, priority, URL and name. The line of an invalid \
            entry has the position in the manifest and the error. Private addresses are not \
            detected. Network options have an effect only if they change the request headers.

            EXAMPLES:
              # Show which icons a prefetch would request.
              larder plan apps.json
              # Show how a manifest is read.
              larder plan apps.json --explain --quiet
              # Fail if an icon of a catalogue is missing or not an image.
              larder plan apps.json --health --fail-on missing,not-an-image
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var manifest: ManifestOptions
    @OptionGroup(title: "Health report") var health: HealthOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Revalidation and failures") var revalidation: RevalidationOptions
    @OptionGroup(title: "Limits and retries", visibility: .rare) var transfer: TransferOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Addresses", visibility: .rare) var addresses: AddressOptions
    @OptionGroup(title: "Credentials", visibility: .rare) var credentials: CredentialOptions
    @OptionGroup(title: "Several workers") var workers: ShardOptions

    @Flag(
        help: """
            Print one JSON line for each icon, and a last line with the counts and with the values \
            at all icon places of the manifests.
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
        try workers.validate(perHost: transfer.maxPerHost)
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
        try await ExitStatus.of(cache) {
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.manifestRules = try reading.rules()
            configuration.acceptsAnyContent = manifest.anyContent
            revalidation.apply(to: &configuration.policy)
            try applyNetwork(to: &configuration)
            let planner = Planner(
                cache: try cache.openIfThere(), rules: configuration.manifestRules,
                acceptsAnyContent: configuration.acceptsAnyContent, policy: configuration.policy,
                headers: configuration.requestHeaders, shard: try workers.shard)
            let sources = try manifest.sources()
            if health.isOn { return try report(on: sources, by: planner) }
            var common = CommonFailures()
            let paint = colors.output
            let line = ProgressLine(isQuiet: quiet)
            func conclude(_ summary: PlanSummary, _ values: PlannedValues) throws {
                line.clear()
                summary.complaints(of: sources).forEach(Console.complain)
                summary.notes(of: sources).forEach(Console.complain)
                summary.splitComplaint.map(Console.complain)
                if explain {
                    for (source, read) in zip(sources, summary.manifests) {
                        print(json ? read.json(of: source).text : read.text(of: source))
                    }
                }
                guard !json else {
                    return try summary.writeJSON(quiet ? nil : values) { print($0, terminator: "") }
                }
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
}
