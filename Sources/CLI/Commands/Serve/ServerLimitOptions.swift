import ArgumentParser
import LarderServer

struct ServerLimitOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            """
            Keep icons in memory up to this size. With 0, each is read from the disk. (default: \
            64MiB)
            """, valueName: "size"), transform: ByteCount.parse)
    var memoryLimit = ByteCount(64 << 20)

    @Option(
        help: ArgumentHelp(
            "The most clients at a time; others wait until one leaves.", valueName: "n"))
    var maxConnections = 4_096

    @Option(
        help: .rare(
            "Close a connection whose request takes longer to arrive. (default: 10s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var requestTimeout = TimeSpan(seconds: 10)

    @Option(
        help: .rare("Close a connection without requests after this time. (default: 60s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var idleTimeout = TimeSpan(seconds: 60)

    @Option(
        help: .rare(
            "Close a connection whose client takes nothing for this time. (default: 2m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = TimeSpan(seconds: 120)

    @Option(
        help: .rare(
            "When told to stop, let responses end for at most this time. (default: 30s)", "time"),
        transform: TimeSpan.parse)
    var grace = TimeSpan(seconds: 30)

    func validate() throws {
        guard 1...1_000_000 ~= maxConnections else {
            throw ValidationError("--max-connections is a number from 1 to 1000000.")
        }
    }

    func apply(to configuration: inout ServerConfiguration) {
        configuration.memoryLimit = Int(clamping: memoryLimit.bytes)
        configuration.maximumConnections = maxConnections
        configuration.headTimeout = requestTimeout.duration
        configuration.idleTimeout = idleTimeout.duration
        configuration.stallTimeout = stallTimeout.duration
        configuration.grace = grace.duration
    }
}
