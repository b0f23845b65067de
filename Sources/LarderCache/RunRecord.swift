import Foundation
import LarderCore

/// The result of a command's last run, stored in `runs/<command>.json`. Contains no paths.
package struct RunRecord: Sendable, Equatable, Decodable {
    package enum Command: String, Sendable, Decodable, CaseIterable {
        case prefetch, push, pull, verify, evict, reindex
    }

    package enum Count: String, Sendable, CaseIterable {
        case entries
        case fetched, revalidated, cached, coalesced, skipped, failed, unfinished, unstored
        case pulled, shared, pushed, unpushed
        case receivedBytes = "received_bytes"
        /// The objects that were read, or that an eviction left.
        case objects, bytes
        case resources, whole, findings
        case damaged, repaired
        case evictedObjects = "evicted_objects"
        case evictedBytes = "evicted_bytes"
        case kept, swept, missed
    }

    package let command: Command
    /// The start of the run, before it waited for locks.
    package let started: Date
    package let ended: Date
    package let seconds: Double
    package let exitStatus: Int32
    /// Empty if the run was stopped early. Other versions may have other counts.
    package let counts: [String: Int64]
    package let version: String

    package init(
        _ command: Command, started: Date, ended: Date, seconds: Double, exitStatus: Int32,
        counts: [Count: Int64], version: String
    ) {
        (self.command, self.started, self.ended) = (command, started, ended)
        (self.exitStatus, self.version) = (exitStatus, version)
        self.seconds = (seconds * 1000).rounded() / 1000
        self.counts = Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
    }

    package func save(inCacheAt path: String) {
        guard
            let directory = try? CacheDirectory(path: path, create: false, lock: .none),
            directory.isWritable,
            // A directory that is not a cache must not get a directory `runs/`.
            (try? directory.root.status(of: CacheLayout.index)) != nil,
            let runs = try? directory.root.directory(CacheLayout.runs, create: true)
        else { return }
        let text = json { UTCTime.timestamp($0) }.text + "\n"
        try? directory.replace(Self.file(command), in: runs, Array(text.utf8))
    }

    package func json(_ instant: (Date) -> any JSONRepresentable) -> JSONObject {
        var counts = JSONObject()
        for count in Count.allCases {
            if let value = self.counts[count.rawValue] { counts.set(count.rawValue, value) }
        }
        return [
            "command": command.rawValue, "started": instant(started), "ended": instant(ended),
            "seconds": seconds, "exit_status": exitStatus,
            "version": version.sanitizedForTerminal, "counts": counts,
        ]
    }

    static func load(_ command: Command, from directory: CacheDirectory) -> RunRecord? {
        guard
            let runs = try? directory.root.directory(CacheLayout.runs),
            let bytes = try? runs.file(Self.file(command)).read(atMost: 16 * 1024)
        else { return nil }
        let decoder = JSONDecoder()
        decoder.dateDecodingStrategy = .iso8601
        // This strategy does not convert the keys of `counts`.
        decoder.keyDecodingStrategy = .convertFromSnakeCase
        let record = try? decoder.decode(Self.self, from: Data(bytes))
        return record?.command == command ? record : nil
    }

    private static func file(_ command: Command) -> String { "\(command.rawValue).json" }
}
