import ArgumentParser
import LarderManifest
import LarderPrefetch

struct RemotePushCommand: AsyncParsableCommand, GuidedCommand, NetworkCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Store in a remote what the cache has and the remote lacks.",
        discussion: """
            Each object is compared with its digest on the way. An icon whose origin says \
            'private' stays where it is. The exit status is 2 if something could not be stored; \
            the next run continues.
            """)

    static let guide = CommandGuide(
        usual: [
            "--remote", "--cache", "--manifest", "--remote-endpoint", "--remote-profile", "--json",
            "--quiet",
        ],
        examples: [
            .init("Share all icons of the cache.", "larder remote push --remote s3://icons/shared")
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
        help: ArgumentHelp(
            "Only the icons of this manifest. May be repeated. (default: all of the cache)",
            valueName: "manifest"))
    var manifests: [String] = []

    @Flag(help: "Print the summary as one JSON object.")
    var json = false

    @Flag(name: .shortAndLong, help: "Print nothing, or one line if something is wrong.")
    var quiet = false

    func validate() throws {
        _ = try remote.requireRemote(.store)
        if manifests.isEmpty, try reading.rules != ManifestRules() {
            throw ValidationError("Options for reading manifests need --manifest.")
        }
    }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: quiet, recordedAs: .push) { run in
            var configuration = PrefetchConfiguration(cache: cache.path)
            if manifests.isEmpty {
                // The cache's own list has no limit.
                configuration.manifestRules.limits.maximumEntries = .max
            } else {
                configuration.manifestRules = try reading.rules
            }
            try applyNetwork(to: &configuration)
            configuration.policy.isOffline = true
            // Whatever was accepted when it was stored.
            configuration.acceptsAnyContent = true
            configuration.namesSuccesses = false
            configuration.remote = try remote.requireRemote(.store)
            configuration.lockWait = run.wait
            let all = try cache.required(wait: run.wait)
            let sources =
                try manifests.isEmpty
                ? [.listing(of: all)]
                : manifests.map(ManifestOptions.source)
            try await run.carry(
                sources, configuration,
                PrefetchConsole(
                    .push, isQuiet: quiet, isJSON: json, colors: colors, line: run.line))
        }
    }
}
