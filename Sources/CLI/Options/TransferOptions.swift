import ArgumentParser
import LarderKit
import LarderTransfer

/// How the network is used, for `prefetch`.
struct TransferOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Transfers under way at once.", valueName: "n"))
    var maxConcurrent = 16

    @Option(
        help: ArgumentHelp(
            """
            Requests in flight to one scheme, host and port; where several of them wait, at most \
            one less than --max-concurrent.
            """, valueName: "n"))
    var maxPerHost = 6

    @Option(
        help: ArgumentHelp(
            "Attempts for each URL where a failure may pass, the first included.", valueName: "n"))
    var attempts = 5

    @Option(help: ArgumentHelp("Refuse larger bodies.", valueName: "size"))
    var maxObjectSize = ByteCount(16 << 20)

    @Option(help: ArgumentHelp("The longest a connection may take to open.", valueName: "time"))
    var connectTimeout = TimeSpan(seconds: 10)

    @Option(
        help: ArgumentHelp(
            "The longest a transfer may crawl below 100 bytes a second.", valueName: "time"))
    var stallTimeout = TimeSpan(seconds: 30)

    @Option(help: ArgumentHelp("The longest a transfer may take in all.", valueName: "time"))
    var timeout = TimeSpan(seconds: 300)

    @Option(
        help: ArgumentHelp(
            "Trust the certificate authorities in this PEM file instead of the system's.",
            valueName: "file"))
    var caCert: String?

    @Option(help: ArgumentHelp("The User-Agent field of every request.", valueName: "text"))
    var userAgent = LarderVersion.userAgent

    @Flag(help: "Connect to loopback, private and link-local addresses, too.")
    var allowPrivateNetwork = false

    func validate() throws {
        guard (1...1000).contains(maxConcurrent) else {
            throw ValidationError("--max-concurrent must be from 1 to 1000.")
        }
        guard (1...1000).contains(maxPerHost) else {
            throw ValidationError("--max-per-host must be from 1 to 1000.")
        }
        guard (1...100).contains(attempts) else {
            throw ValidationError("--attempts must be from 1 to 100.")
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
        configuration.attempts = attempts
        configuration.maximumObjectBytes = maxObjectSize.bytes
        configuration.transfer.connectTimeout = connectTimeout.duration
        configuration.transfer.stallTimeout = stallTimeout.duration
        configuration.transfer.totalTimeout = timeout.duration
        configuration.transfer.certificateAuthorities = caCert
        configuration.transfer.userAgent = userAgent
        configuration.transfer.addressPolicy = allowPrivateNetwork ? .allowAll : .publicOnly
    }
}
