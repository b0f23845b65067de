import ArgumentParser
import Foundation
import LarderKit

/// Which part of a remote is gone through, for `verify` and `evict`.
struct RemotePartOptions: ParsableArguments {
    @Option(
        name: .customLong("shard"),
        help: ArgumentHelp(
            """
            With --remote, be worker i of n, counted from 0, and leave the rest of the remote to \
            the others: 0/8, or auto as for prefetch.
            """, valueName: "i/n"),
        transform: ShardName.parse)
    var name: ShardName?

    /// Nil if there are no other workers.
    var shard: Shard? {
        get throws {
            guard let place = try name?.place(ProcessInfo.processInfo.environment) else {
                return nil
            }
            return Shard(place.index, of: place.count)
        }
    }

    func validate(hasRemote: Bool) throws {
        guard name == nil || hasRemote else { throw ValidationError("--shard needs --remote.") }
        _ = try shard
    }
}
