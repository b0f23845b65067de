import ArgumentParser
import LarderKit
import LarderTransfer

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
            """
            Receive at most this much per second, for all transfers together: 500kB/s, 2MiB/s. \
            The network is really slowed; rehearse --bandwidth only simulates a line.
            """, valueName: "size/s"),
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
