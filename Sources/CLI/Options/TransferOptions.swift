import ArgumentParser
import LarderHTTP
import LarderPrefetch

struct TransferOptions: ParsableArguments {
    @Option(
        name: [.customShort("j", allowingJoined: true), .long],
        help: .common("The maximum number of concurrent transfers.", "n"))
    var maxConcurrent = 16

    @Option(
        help: .rare(
            """
            The maximum number of concurrent requests to one scheme, host and port. With several \
            hosts, the limit is at most one less than --max-concurrent.
            """, "n"))
    var maxPerHost = 6

    @Option(
        help: .rare(
            "The maximum size of an icon, for example 500kB or 2MiB. (default: 16MiB)", "size"),
        transform: ByteCount.parseAboveZero)
    var maxObjectSize = ByteCount(Self.defaultSize)
    fileprivate static let defaultSize: Int64 = 16 << 20

    @Option(
        help: .rare("The time limit for a transfer, for example 90s or 1h. (default: 5m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var timeout = TimeSpan(seconds: 300)

    @Option(
        help: .rare(
            "The maximum number of attempts for a URL, if its failures may be temporary.", "n"))
    var attempts = 5

    @Option(
        help: .rare(
            """
            Retry a URL for at most this time after its first attempt, and give up on a host that \
            asks for a longer wait. (default: 10m)
            """, "time"), transform: TimeSpan.parseAboveZero)
    var retryMaxTime = TimeSpan(seconds: 600)

    @Option(
        help: .rare(
            "The maximum number of requests per second to a scheme, host and port.", "n"),
        transform: Quantity.perSecond)
    var ratePerHost: Double?

    @Option(help: .rare("The User-Agent header of requests.", "text"))
    var userAgent = LarderVersion.userAgent

    func validate() throws {
        try refuse("--max-concurrent", maxConcurrent, outside: 1...1000)
        try refuse("--max-per-host", maxPerHost, outside: 1...1000)
        try refuse("--attempts", attempts, outside: 1...100)
        if let ratePerHost, !(0.001...100_000).contains(ratePerHost) {
            throw ValidationError("--rate-per-host must be from 0.001 to 100000.")
        }
        guard userAgent.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F }) else {
            throw ValidationError("--user-agent must not contain control characters.")
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

/// A command with network options. `plan` makes no requests, but request headers select the variant
/// of an icon.
///
/// The option groups are not nested, because a debug build's parser takes long for nested groups.
protocol NetworkCommand: ParsableCommand {
    var transfer: TransferOptions { get }
    var connections: ConnectionOptions { get }
    var addresses: AddressOptions { get }
    var credentials: CredentialOptions { get }
}

extension NetworkCommand {
    /// Returns unused options that may prevent a failure with this code, or nil.
    func missingOptions(for code: String, _ message: String) -> String? {
        let options: [(name: String, isUsed: Bool)] =
            switch code {
            case TransferError.Code.addressRefused.rawValue:
                [("--allow-private-network", false), ("--allow-host", false)]
            case TransferError.Code.certificate.rawValue:
                [("--ca-cert", connections.caCert != nil)]
            case TransferError.Code.nameNotResolved.rawValue,
                TransferError.Code.connectionRefused.rawValue,
                TransferError.Code.connectFailed.rawValue,
                TransferError.Code.connectTimeout.rawValue:
                [
                    ("--proxy", connections.proxy != nil),
                    ("--resolve", !connections.resolve.isEmpty),
                    ("--connect-to", !connections.connectTo.isEmpty),
                ]
            case TransferError.Code.tls.rawValue:
                [("--client-cert", credentials.clientCert != nil)]
            case TransferError.Code.tooLarge.rawValue:
                [("--max-object-size", transfer.maxObjectSize.bytes != TransferOptions.defaultSize)]
            case "redirect-refused" where message.contains("--allow-downgrade"):
                [("--allow-downgrade", addresses.allowDowngrade)]
            case "http-400", "http-401", "http-403", "http-406":
                [
                    ("--header", !credentials.header.isEmpty),
                    ("--netrc", credentials.netrc || credentials.netrcFile != nil),
                    ("--client-cert", credentials.clientCert != nil),
                    ("--user-agent", transfer.userAgent != LarderVersion.userAgent),
                ]
            default: []
            }
        let missing = options.filter { !$0.isUsed }.map(\.name)
        return missing.isEmpty ? nil : missing.joined(separator: " or ")
    }

    func applyNetwork(to configuration: inout PrefetchConfiguration) throws {
        configuration.logger = Log.logger("larder.prefetch")
        transfer.apply(to: &configuration)
        try connections.apply(to: &configuration.transfer)
        try addresses.apply(to: &configuration)
        try credentials.apply(to: &configuration)
    }
}
