import ArgumentParser
import Foundation
import LarderRehearsal

/// How a rehearsed app gets its images, and what it is short of.
struct StrategyOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The strategy to load images by. (default: sandbox)", valueName: "name"))
    var strategy: StrategyName?

    @Flag(help: "Rehearse with every strategy, one after another, each in a process of its own.")
    var compare = false

    @Option(
        name: .customLong("cache"),
        help: ArgumentHelp(
            """
            Let the strategy sandbox read icons from this cache directory, and add those that it \
            downloads; $LARDER_CACHE is not used. (default: an empty one, which is removed at \
            the end)
            """,
            valueName: "dir"))
    var cache: String?

    @Option(
        help: ArgumentHelp(
            """
            Raise a memory warning when images take this much memory. sandbox keeps at most three \
            quarters of it in its memory cache. (default: 32MiB)
            """, valueName: "size"),
        transform: ByteCount.parse)
    var memoryLimit = ByteCount(32 << 20)

    @Option(
        help: ArgumentHelp(
            "Wait this long before each download: 40ms, 1s. (default: 0)", valueName: "time"),
        transform: TimeSpan.parse)
    var latency = TimeSpan(seconds: 0)

    @Option(
        help: ArgumentHelp(
            """
            Simulate a line over which all icons together receive this much in a second: 500kB/s, \
            2MiB/s. What comes is held back; --limit-rate really slows the network, for manifests, \
            too.
            """, valueName: "size/s"),
        transform: ByteCount.perSecond)
    var bandwidth: ByteCount?

    func validate() throws {
        if cache == "" { throw ValidationError("--cache needs the name of a directory.") }
        if compare, strategy != nil {
            throw ValidationError("--compare and --strategy exclude each other.")
        }
        if cache != nil, let strategy, strategy != .sandbox {
            throw ValidationError("--cache is for the strategy sandbox.")
        }
        guard memoryLimit.bytes >= 1 << 10 else {
            throw ValidationError("--memory-limit must be at least 1KiB.")
        }
    }

    /// The strategies to rehearse with, one after another.
    var names: [StrategyName] { compare ? StrategyName.allCases : [strategy ?? .sandbox] }

    func apply(to options: inout RehearsalOptions) {
        options.memoryLimit = Int(memoryLimit.bytes)
        options.directory = cache.map { URL(fileURLWithPath: $0, isDirectory: true) }
    }
}

extension StrategyName: ExpressibleByArgument {}
