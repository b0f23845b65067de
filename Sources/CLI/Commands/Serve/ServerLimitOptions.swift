import ArgumentParser
import LarderServer

struct ServerLimitOptions: ParsableArguments {
    @Option(
        help: .common(
            "The size of the memory cache. With 0, every icon is read from disk. (default: 64MiB)",
            "size"), transform: ByteCount.parse)
    var memoryLimit = ByteCount(64 << 20)

    @Option(help: .common("The maximum number of connections. Further connections wait.", "n"))
    var maxConnections = 4_096

    @Option(
        help: .rare("The time limit for receiving a request. (default: 10s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var requestTimeout = TimeSpan(seconds: 10)

    @Option(
        help: .rare("Close a connection without requests after this time. (default: 60s)", "time"),
        transform: TimeSpan.parseAboveZero)
    var idleTimeout = TimeSpan(seconds: 60)

    @Option(
        help: .rare(
            "Close a connection if its client reads nothing for this time. (default: 2m)", "time"),
        transform: TimeSpan.parseAboveZero)
    var stallTimeout = TimeSpan(seconds: 120)

    @Option(
        help: .rare("The time limit for responses in flight after SIGTERM. (default: 30s)", "time"),
        transform: TimeSpan.parse)
    var grace = TimeSpan(seconds: 30)

    func validate() throws {
        guard 1...1_000_000 ~= maxConnections else {
            throw ValidationError("--max-connections must be from 1 to 1000000.")
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
