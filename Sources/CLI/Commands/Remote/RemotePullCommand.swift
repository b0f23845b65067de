import ArgumentParser
import LarderPrefetch

struct RemotePullCommand: AsyncParsableCommand, GuidedCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Copy the icons of manifests from a remote into the cache, and ask no origin.",
        discussion: """
            What the cache has is left as it is, however stale, and what the remote has is taken \
            as it is. The exit status is 2 if the remote lacks an icon.
            """)

    static let guide = CommandGuide(
        usual: [
            "--remote", "--manifest", "--cache", "--remote-endpoint", "--remote-profile",
            "--remote-unsigned", "--json", "--quiet",
        ],
        examples: [
            .init(
                "Fill the cache of a machine that reaches the remote alone.",
                "larder remote pull --manifest apps.json --remote s3://icons/shared")
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Reading manifests") var reading: ReadingOptions
    @OptionGroup(title: "Limits") var transfer: TransferOptions
    @OptionGroup(title: "Retries and request rate") var retry: RetryOptions
    @OptionGroup(title: "Addresses") var addresses: AddressOptions
    @OptionGroup(title: "Credentials") var credentials: CredentialOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Option(
        name: .customLong("manifest"),
        help: ArgumentHelp("A manifest of the icons. May be repeated.", valueName: "manifest"))
    var manifests: [String] = []

    @Flag(help: "Accept bodies that are not images.")
    var anyContent = false

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    func validate() throws {
        _ = try remote.requireRemote(.only)
        if manifests.isEmpty { throw ValidationError("Name at least one --manifest.") }
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: quiet, makesCache: true, recordedAs: .pull
        ) { run in
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.manifestRules = try reading.rules
            try applyNetwork(to: &configuration)
            configuration.policy.revalidation = .never
            configuration.policy.failureLifetime = .zero
            configuration.acceptsAnyContent = anyContent
            configuration.namesSuccesses = false
            configuration.remote = try remote.requireRemote(.only)
            configuration.lockWait = run.wait
            let sources = try manifests.map(ManifestOptions.source)
            try await run.carry(
                sources, configuration,
                PrefetchConsole(
                    .pull, isQuiet: quiet, isJSON: json, colors: colors, line: run.line))
        }
    }
}
