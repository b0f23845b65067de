import ArgumentParser
import LarderManifest
import LarderPrefetch

struct RemotePullCommand: AsyncParsableCommand, CarryingCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Copy the icons in manifests from a remote into the cache.",
        discussion: """
            The servers of the icons are not contacted. Icons that are already cached are not \
            changed. Icons are copied from the remote even if they are stale. The exit status is 2 \
            if an icon is not in the remote.

            EXAMPLES:
              # Fill the cache of a machine that can connect only to the remote.
              larder remote pull --manifest apps.json --remote s3://icons/shared
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Limits and retries", visibility: .rare) var transfer: TransferOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Addresses", visibility: .rare) var addresses: AddressOptions
    @OptionGroup(title: "Credentials", visibility: .rare) var credentials: CredentialOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    @Flag(help: .rare("Accept files that are not images.")) var anyContent = false

    func validate() throws {
        try remote.requireOption()
        try selection.requireSome()
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: output.quiet, makesCache: true, recordedAs: .pull
        ) { run in
            var configuration = PrefetchConfiguration(cache: cache.path)
            configuration.manifestRules = try reading.rules()
            configuration.policy.revalidation = .never
            configuration.policy.failureLifetime = .zero
            configuration.acceptsAnyContent = anyContent
            configuration.remote = try remote.remote(.only)
            try await run.carry(
                try selection.manifest.map(ManifestOptions.source), configuration, self, .pull
            ).exit()
        }
    }
}

struct RemotePushCommand: AsyncParsableCommand, CarryingCommand {
    static let configuration = CommandConfiguration(
        commandName: "push", abstract: "Copy icons from the cache to a remote.",
        discussion: """
            Icons that are already in the remote are not copied again. Each object is compared \
            with its digest. Icons with 'Cache-Control: private' are not copied. The exit status \
            is 2 if an icon could not be stored. The next run continues.

            EXAMPLES:
              # Share all icons of the cache.
              larder remote push --remote s3://icons/shared
            """)

    @OptionGroup var cache: CacheOptions
    @OptionGroup var colors: ColorOptions
    @OptionGroup var output: ReportOptions
    @OptionGroup var log: LogOptions
    @OptionGroup var selection: ManifestSelection
    @OptionGroup(title: "Remote") var remote: RemoteOptions
    @OptionGroup(title: "Reading manifests", visibility: .rare) var reading: ReadingOptions
    @OptionGroup(title: "Limits and retries", visibility: .rare) var transfer: TransferOptions
    @OptionGroup(title: "Connections", visibility: .rare) var connections: ConnectionOptions
    @OptionGroup(title: "Addresses", visibility: .rare) var addresses: AddressOptions
    @OptionGroup(title: "Credentials", visibility: .rare) var credentials: CredentialOptions
    @OptionGroup(title: "Concurrent runs", visibility: .rare) var locks: LockOptions

    func validate() throws {
        try remote.requireOption()
        try reading.validate(for: selection.manifest)
    }

    func run() async throws {
        try await CacheRun.of(
            self, on: cache, locks, isQuiet: output.quiet, recordedAs: .push
        ) { run in
            var configuration = PrefetchConfiguration(cache: cache.path)
            if selection.manifest.isEmpty {
                // Unlike a manifest, a cache can contain any number of icons.
                configuration.manifestRules.limits.maximumEntries = .max
            } else {
                configuration.manifestRules = try reading.rules()
            }
            configuration.policy.isOffline = true
            // The objects were checked when they were stored.
            configuration.acceptsAnyContent = true
            configuration.remote = try remote.remote(.store)
            let all = try cache.open(wait: run.wait)
            let sources =
                try selection.manifest.isEmpty
                ? [.listing(of: all)]
                : selection.manifest.map(ManifestOptions.source)
            try await run.carry(sources, configuration, self, .push).exit()
        }
    }
}

struct RemoteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remote",
        abstract: "Maintain a remote, a store of icons that several machines share.",
        discussion: """
            EXAMPLES:
              # Share all icons of the cache.
              larder remote push --remote s3://icons/shared
              # Read every object of a remote again.
              larder remote verify --remote s3://icons/shared
            """,
        subcommands: [
            RemotePushCommand.self, RemotePullCommand.self, RemoteVerifyCommand.self,
            RemoteEvictCommand.self,
        ])
}
