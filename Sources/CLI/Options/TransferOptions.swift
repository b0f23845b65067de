import ArgumentParser
import LarderPrefetch

/// How much of the network is used, and for how long.
struct TransferOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Run at most this many transfers at once.", valueName: "n"))
    var maxConcurrent = 16

    @Option(
        help: ArgumentHelp(
            """
            Send at most this many requests at once to one scheme, host and port. If there are \
            several, the limit for each is at most one less than --max-concurrent.
            """, valueName: "n"))
    var maxPerHost = 6

    @Option(
        help: ArgumentHelp(
            "Refuse bodies larger than this: 500kB, 2MiB. (default: 16MiB)", valueName: "size"),
        transform: ByteCount.parse)
    var maxObjectSize = ByteCount(16 << 20)

    @Option(
        help: ArgumentHelp(
            "Give up a connection that takes longer than this to open: 5s, 2m. (default: 10s)",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var connectTimeout = TimeSpan(seconds: 10)

    @Option(
        help: ArgumentHelp(
            "Give up a transfer below 100 bytes per second for this long: 20s, 2m. (default: 30s)",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = TimeSpan(seconds: 30)

    @Option(
        help: ArgumentHelp(
            "Give up a transfer that takes longer than this in all: 90s, 1h. (default: 5m)",
            valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var timeout = TimeSpan(seconds: 300)

    @Option(
        help: ArgumentHelp(
            "Receive at most this much per second, for all transfers together: 500kB/s, 2MiB/s.",
            valueName: "size/s"),
        transform: ByteCount.perSecond)
    var limitRate: ByteCount?

    @Option(help: ArgumentHelp("The User-Agent field of every request.", valueName: "text"))
    var userAgent = LarderVersion.userAgent

    func validate() throws {
        guard (1...1000).contains(maxConcurrent) else {
            throw ValidationError("--max-concurrent must be from 1 to 1000.")
        }
        guard (1...1000).contains(maxPerHost) else {
            throw ValidationError("--max-per-host must be from 1 to 1000.")
        }
        guard maxObjectSize.bytes > 0 else {
            throw ValidationError("--max-object-size must be at least 1.")
        }
        guard userAgent.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("--user-agent must not hold control characters.")
        }
    }

    func apply(to configuration: inout PrefetchConfiguration) {
        configuration.maximumConcurrent = maxConcurrent
        configuration.maximumPerHost = maxPerHost
        configuration.maximumObjectBytes = maxObjectSize.bytes
        configuration.transfer.connectTimeout = connectTimeout.duration
        configuration.transfer.stallTimeout = stallTimeout.duration
        configuration.transfer.totalTimeout = timeout.duration
        configuration.transfer.userAgent = userAgent
        configuration.transfer.maximumBytesPerSecond = limitRate?.bytes
    }
}

/// How patient and how polite a run is.
struct RetryOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Try each URL up to this many times in all while its failure may be temporary.",
            valueName: "n"))
    var attempts = 5

    @Option(
        help: ArgumentHelp(
            """
            Begin no attempt later than this after the first one, and give up on a host that asks \
            for a longer wait. (default: 10m)
            """, valueName: "time"),
        transform: TimeSpan.parseAboveZero)
    var retryMaxTime = TimeSpan(seconds: 600)

    @Option(
        help: ArgumentHelp(
            """
            Begin at most this many requests a second to one scheme, host and port, such as 5 or \
            0.5.
            """,
            valueName: "n"),
        transform: { try Quantity.number($0, unit: "/s") })
    var ratePerHost: Double?

    func validate() throws {
        guard (1...100).contains(attempts) else {
            throw ValidationError("--attempts must be from 1 to 100.")
        }
        if let ratePerHost, !(0.001...100_000).contains(ratePerHost) {
            throw ValidationError("--rate-per-host must be from 0.001 to 100000.")
        }
    }

    func apply(to configuration: inout PrefetchConfiguration) {
        configuration.retry.attempts = attempts
        configuration.retry.maximumTime = retryMaxTime.duration
        configuration.ratePerHost = ratePerHost
    }
}

/// What is asked for of what is cached, for `prefetch` and `plan`.
struct RevalidationOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Which cached icons to ask for again. stale: those that are not fresh; always: also \
            fresh ones, unless they are immutable; never: none.
            """, valueName: "which"))
    var revalidate = Revalidation.stale

    func apply(to policy: inout PlanPolicy) { policy.revalidation = revalidate }
}

extension Revalidation: ExpressibleByArgument {}

/// A command with the options of the network. `plan` has them, too: manifests may be on it, and
/// which variant of an icon is wanted depends on what is sent.
///
/// Not a group of these groups: in debug builds, the parser validates each group four times for
/// every level above it, which was most of the time of a short run.
protocol NetworkCommand: ParsableCommand {
    var transfer: TransferOptions { get }
    var retry: RetryOptions { get }
    var addresses: AddressOptions { get }
    var credentials: CredentialOptions { get }
}

extension NetworkCommand {
    /// - Throws: ``MissingInput`` if a file that is named cannot be read.
    func applyNetwork(to configuration: inout PrefetchConfiguration) throws {
        transfer.apply(to: &configuration)
        retry.apply(to: &configuration)
        try addresses.apply(to: &configuration)
        try credentials.apply(to: &configuration)
    }
}
