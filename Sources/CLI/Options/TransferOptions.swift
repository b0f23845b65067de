import ArgumentParser
import LarderPrefetch

struct TransferOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Run at most this many transfers at once.", valueName: "n"))
    var maxConcurrent = 16

    @Option(
        help: .rare(
            """
            Send at most this many requests at once to one scheme, host and port. If there are \
            several, the limit for each is at most one less than --max-concurrent.
            """, "n"))
    var maxPerHost = 6

    @Option(
        help: .rare("Refuse bodies larger than this: 500kB, 2MiB. (default: 16MiB)", "size"),
        transform: ByteCount.parseAboveZero)
    var maxObjectSize = ByteCount(16 << 20)

    @Option(
        help: .rare(
            "Give up a transfer that takes longer than this: 90s, 1h. (default: 5m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var timeout = TimeSpan(seconds: 300)

    @Option(
        help: .rare(
            "Try each URL up to this many times in all while its failure may be temporary.", "n"))
    var attempts = 5

    @Option(
        help: .rare(
            """
            Begin no attempt later than this after the first one, and give up on a host that asks \
            for a longer wait. (default: 10m)
            """, "time"), transform: TimeSpan.parseAboveZero)
    var retryMaxTime = TimeSpan(seconds: 600)

    @Option(
        help: .rare(
            """
            Begin at most this many requests a second to one scheme, host and port, such as 5 or \
            0.5.
            """, "n"), transform: Quantity.perSecond)
    var ratePerHost: Double?

    @Option(help: .rare("The User-Agent field of every request.", "text"))
    var userAgent = LarderVersion.userAgent

    func validate() throws {
        for (option, value, limits) in [
            ("--max-concurrent", maxConcurrent, 1...1000),
            ("--max-per-host", maxPerHost, 1...1000), ("--attempts", attempts, 1...100),
        ] where !limits.contains(value) {
            throw ValidationError(
                "\(option) must be from \(limits.lowerBound) to \(limits.upperBound).")
        }
        if let ratePerHost, !(0.001...100_000).contains(ratePerHost) {
            throw ValidationError("--rate-per-host must be from 0.001 to 100000.")
        }
        guard userAgent.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("--user-agent must not hold control characters.")
        }
    }

    fileprivate func apply(to configuration: inout PrefetchConfiguration) {
        configuration.maximumConcurrent = maxConcurrent
        configuration.maximumPerHost = maxPerHost
        configuration.maximumObjectBytes = maxObjectSize.bytes
        configuration.transfer.totalTimeout = timeout.duration
        configuration.transfer.userAgent = userAgent
        configuration.retry.attempts = attempts
        configuration.retry.maximumTime = retryMaxTime.duration
        configuration.ratePerHost = ratePerHost
    }
}

/// A command with network options. `plan` has them because what is sent chooses the variant of an
/// icon.
///
/// Not a group of these groups, because in debug builds the parser validates each group four times
/// for every level above it, which was most of the time of a short run.
protocol NetworkCommand: ParsableCommand {
    var transfer: TransferOptions { get }
    var connections: ConnectionOptions { get }
    var addresses: AddressOptions { get }
    var credentials: CredentialOptions { get }
}

extension NetworkCommand {
    func applyNetwork(to configuration: inout PrefetchConfiguration) throws {
        transfer.apply(to: &configuration)
        try connections.apply(to: &configuration.transfer)
        try addresses.apply(to: &configuration)
        try credentials.apply(to: &configuration)
    }
}
