import Foundation
import LarderCore

/// The result of a command's last run, stored in `runs/<command>.json` for users and monitoring.
/// Contains no paths.
package struct RunRecord: Sendable, Equatable {
    package enum Command: String, Sendable, Decodable, CaseIterable {
        case prefetch, push, pull, verify, evict, reindex
    }

    package enum Count: String, Sendable, CaseIterable {
        case entries
        case fetched, revalidated, cached, coalesced, skipped, failed, unfinished, unstored
        case pulled, shared, pushed, unpushed
        case receivedBytes = "received_bytes"
        /// Objects read, or remaining after an eviction.
        case objects, bytes
        case resources, whole, findings
        /// Findings that are corruption (for a reindex, damaged objects), and repaired findings.
        case damaged, repaired
        case evictedObjects = "evicted_objects"
        case evictedBytes = "evicted_bytes"
        case kept, swept, missed
    }

    package let command: Command
    /// Before the run waited for locks.
    package let started: Date
    package let ended: Date
    /// Measured with a monotonic clock.
    package let seconds: Double
    package let exitStatus: Int32
    /// By ``Count``. Empty if the run was stopped early. Other versions may have other counts.
    package let counts: [String: Int64]
    package let version: String

    package init(
        _ command: Command, started: Date, ended: Date, seconds: Double, exitStatus: Int32,
        counts: [Count: Int64], version: String
    ) {
        self.command = command
        self.started = started
        self.ended = ended
        self.seconds = (seconds * 1000).rounded() / 1000
        self.exitStatus = exitStatus
        self.counts = Dictionary(uniqueKeysWithValues: counts.map { ($0.rawValue, $1) })
        self.version = version
    }

    /// Ignores errors. Does nothing in a read-only cache.
    package func save(inCacheAt path: String) {
        guard
            let directory = try? CacheDirectory(path: path, create: false, lock: .none),
            directory.isWritable,
            // Do not create `runs/` in a directory that is not a cache.
            (try? directory.root.status(of: CacheLayout.index)) != nil,
            let runs = try? directory.root.directory(CacheLayout.runs, create: true)
        else { return }
        let text = json { UTCTime.timestamp($0) }.text + "\n"
        try? directory.replace(Self.file(command), beneath: runs, with: Array(text.utf8))
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
        let record = try? decoder.decode(Self.self, from: Data(bytes))
        return record?.command == command ? record : nil
    }

    private static func file(_ command: Command) -> String { "\(command.rawValue).json" }
}

extension RunRecord: Decodable {
    private enum CodingKeys: String, CodingKey {
        case command, started, ended, seconds, counts, version
        case exitStatus = "exit_status"
    }
}
