import ArgumentParser
import LarderPrefetch

struct RemoteEvictCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "evict",
        abstract: "Remove what is too old from a remote.",
        discussion: """
            Removes references that were not renewed for --max-age, then objects that nothing \
            refers to. Workers may use the remote at the same time.
            """)

    static let guide = CommandGuide(
        usual: [
            "--remote", "--max-age", "--grace", "--dry-run", "--shard", "--remote-endpoint",
            "--remote-profile", "--json", "--quiet",
        ],
        examples: [
            .init(
                "Remove what no worker has confirmed for 90 days.",
                "larder remote evict --remote s3://icons/shared --max-age 90d")
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Network") var network: RemoteNetworkOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    // The values of these are taken as they are, so that -1 is a bad value and no unknown option.
    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            "Remove references that were last renewed this long ago or longer: 12h, 30d.",
            valueName: "time"),
        transform: TimeSpan.parse)
    var maxAge: TimeSpan

    @Option(
        parsing: .unconditional,
        help: ArgumentHelp(
            """
            Keep objects without a reference that were written later than this ago. \
            (default: 24h)
            """, valueName: "time"),
        transform: TimeSpan.parse)
    var grace: TimeSpan?

    @Flag(help: "Count what would be removed, and remove nothing.")
    var dryRun = false

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    func validate() throws { _ = try remote.requireRemote(.only) }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: quiet) { run in
            var policy = RemoteEvictor.Policy(maximumAge: maxAge.duration / .seconds(1))
            if let grace { policy.grace = grace.duration / .seconds(1) }
            policy.isDryRun = dryRun
            policy.shard = try part.shard
            let evictor = RemoteEvictor(
                try remote.requireRemote(.only), transfer: try network.transfer)
            try await RemoteUpkeep(isQuiet: quiet, isJSON: json, colors: colors, run: run)
                .evict(evictor, policy)
        }
    }
}
