import Foundation
import LarderCore

/// Where things are beneath a cache root; the one place that builds these names.
///
///     CACHEDIR.TAG                        so backups skip it
///     objects/sha256/ab/abcdef…           one object, read-only, named by its SHA-256
///     index.sqlite  (-wal, -shm)          resources and objects
///     index.snapshot.sqlite               the index as the last run left it
///     index.damaged                       a mark: the next run rebuilds the index
///     index.damaged-<time>.sqlite         an index that was set aside
///     tmp/<run>/                          one run's staged bodies; locked while the run lives
///     tmp/partial/                        bodies that were interrupted, by their URLs' digests
///     quarantine/                         objects that failed verification
///     runs/<command>.json                 what became of the last run of a command
///     locks/<name>                        locked by the run of that name; never removed
///     reserve                             room for the eviction of a full disk
///     verify-position.json                where a verification that ran out of time goes on
///
/// No absolute path is ever stored: a cache that is moved or copied stays whole.
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

    static func run(_ run: String, _ file: String? = nil) -> String {
        "\(temporary)/\(run)" + (file.map { "/\($0)" } ?? "")
    }

    /// The mode of directories, whatever the umask, which decides only who may enter the root.
    static let directoryMode: mode_t = 0o755
    static let fileMode: mode_t = 0o644
    /// The Cache Directory Tagging Specification's signature (bford.info/cachedir).
    static let tagContents = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This is a cache directory made by larder. It can be deleted at any time.

        """

    static func fanOut(_ digest: Digest) -> String { String(digest.hex.prefix(2)) }
    static func place(_ digest: Digest) -> String { "\(fanOut(digest))/\(digest.hex)" }
    static func path(_ digest: Digest) -> String { "\(objectTree)/\(place(digest))" }

    static let indexFiles = [index, index + "-wal", index + "-shm"]
    static let databaseFiles = indexFiles + [index + "-journal"]

    /// Files that SQLite would make beside databases without a log. Never written or read.
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
