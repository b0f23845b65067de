import ArgumentParser
import LarderPrefetch

struct RemoteVerifyCommand: AsyncParsableCommand, GuidedCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Read every object of a remote again, and change nothing without --repair.",
        discussion: """
            It also finds references to objects that are not there. The exit status is 2 if \
            something is left to repair.

            With --repair, a damaged or missing object is written again from the cache. If the \
            cache does not have it, the object and its references are removed, so that the next \
            prefetch downloads it again.
            """)

    static let guide = CommandGuide(
        usual: [
            "--remote", "--repair", "--cache", "--shard", "--remote-endpoint", "--remote-profile",
            "--remote-unsigned", "--json", "--quiet",
        ],
        examples: [
            .init("Read every object.", "larder remote verify --remote s3://icons/shared"),
            .init(
                "Write damaged objects again from the cache.",
                "larder remote verify --remote s3://icons/shared --repair"),
        ])

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Remote") var part: RemotePartOptions
    @OptionGroup(title: "Network") var network: RemoteNetworkOptions
    @OptionGroup(title: "Concurrent runs") var locks: LockOptions

    @Flag(help: "Write damaged objects again from the cache, or remove them.")
    var repair = false

    @Flag(help: "Print the report as one JSON object.")
    var json = false

    @Flag(
        name: .shortAndLong,
        help: "Print nothing if the remote is clean, and one line if it is not.")
    var quiet = false

    func validate() throws { _ = try remote.requireRemote(.only) }

    func run() async throws {
        try await CacheRun.of(self, on: cache, locks, isQuiet: quiet) { run in
            let transfer = try network.transfer
            let cache = repair ? try cache.required(wait: run.wait) : nil
            var verifier = RemoteVerifier(try remote.requireRemote(.only), transfer: transfer)
            verifier.shard = try part.shard
            try await RemoteUpkeep(isQuiet: quiet, isJSON: json, colors: colors, run: run)
                .verify(verifier, repairingFrom: cache)
        }
    }
}
