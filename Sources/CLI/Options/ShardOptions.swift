import ArgumentParser
import Foundation
import LarderKit

/// Which part of the work is this run's, for `prefetch` and `plan`.
struct ShardOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: ArgumentHelp(
            """
            Be worker i of n, counted from 0, and leave the icons on other workers' hosts to them: \
            0/8. With auto/n, i comes from Kubernetes, Slurm or GNU parallel; with auto, n from \
            Slurm, too.
            """, valueName: "i/n"),
        transform: ShardName.parse)
    var name: ShardName?

    @Option(
        name: .customLong("split-host"),
        help: ArgumentHelp(
            """
            Divide the icons on this host into k pieces, for several workers, which share the \
            limits per host. All workers need the same. May be repeated.
            """, valueName: "host=k"))
    var splitHosts: [String] = []

    func validate() throws {
        guard name != nil || splitHosts.isEmpty else {
            throw ValidationError("--split-host needs --shard.")
        }
        guard Set(try splits.map(\.host)).count == splitHosts.count else {
            throw ValidationError("--split-host names a host twice.")
        }
        _ = try shard
    }

    /// Each piece of a host may have at least one request under way.
    func validate(perHost: Int) throws {
        guard let pieces = try splits.map(\.pieces).max(), pieces > perHost else { return }
        throw ValidationError(
            """
            --split-host divides a host into \(pieces) pieces, of which each needs a request of \
            its own, but --max-per-host is \(perHost). Give --max-per-host \(pieces) or more.
            """)
    }

    /// Nil if there are no other workers.
    var shard: Shard? {
        get throws {
            guard let place = try name?.place(ProcessInfo.processInfo.environment) else {
                return nil
            }
            return Shard(place.index, of: place.count, splits: try splits)
        }
    }

    private var splits: [HostSplit] {
        get throws {
            try splitHosts.map { text in
                let parts = text.split(separator: "=", omittingEmptySubsequences: false)
                if parts.count == 2, let pieces = Int(parts[1]),
                    let split = HostSplit(host: String(parts[0]), pieces: pieces)
                {
                    return split
                }
                // Not quoted: who mistook it for a URL may have typed a password.
                let pieces = HostSplit.allowedPieces
                throw ValidationError(
                    """
                    --split-host needs HOST=K: a host without a scheme, port or path, and a \
                    number from \(pieces.lowerBound) to \(pieces.upperBound).
                    """)
            }
        }
    }
}
