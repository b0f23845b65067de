import Foundation
import LarderCore

/// The file names of a cache (`docs/cache.md`). A cache has no absolute paths, so it can be moved.
enum CacheLayout {
    static let tag = "CACHEDIR.TAG"
    static let objects = "objects"
    static let algorithm = "sha256"
    static let index = "index.sqlite"
    static let snapshot = "index.snapshot.sqlite"
    static let damage = "index.damaged"
    static let temporary = "tmp"
    static let partial = "partial"
    static let quarantine = "quarantine"
    static let runs = "runs"
    static let locks = "locks"
    static let verifyPosition = "verify-position.json"
    static let reserve = "reserve"
    static let objectTree = "\(objects)/\(algorithm)"

    static func setAside(at time: String) -> String { "\(damage)-\(time).sqlite" }

    static func run(_ run: String, _ file: String) -> String { "\(temporary)/\(run)/\(file)" }

    /// The mode of directories. The umask applies only to the root and the directories above it.
    static let directoryMode: mode_t = 0o755
    /// The Cache Directory Tagging Specification's signature (bford.info/cachedir).
    static let tagContents = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This is a cache directory made by larder. It can be deleted at any time.

        """

    static func fanOut(_ digest: Digest) -> String { String(digest.hex.prefix(2)) }
    static func path(_ digest: Digest) -> String { "\(objectTree)/\(digest.treePath)" }

    static let indexFiles = [index, index + "-wal", index + "-shm"]
    static let databaseFiles = indexFiles + [index + "-journal"]

    /// Files of SQLite journal modes that Larder does not use for these databases.
    static let foreignJournals = [
        index + "-journal", snapshot + "-journal", snapshot + "-wal", snapshot + "-shm",
    ]

    static let directories = [
        [objects, algorithm], [temporary, partial], [quarantine], [runs], [locks],
    ]

    static let ownNames: Set<String> = [
        tag, objects, temporary, quarantine, runs, locks, snapshot, verifyPosition, reserve,
    ]
}
