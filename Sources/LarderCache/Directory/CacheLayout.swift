/// Where things are beneath a cache root; the one place that builds these names.
///
///     CACHEDIR.TAG                        so backups skip it
///     objects/sha256/ab/abcdef…           one object, read-only, named by its SHA-256
///     index.sqlite  (-wal, -shm)          resources and objects
///     tmp/<run>/                          one run's staged bodies; locked while the run lives
///     quarantine/                         objects that failed verification
///
/// No absolute path is ever stored: a cache that is moved or copied stays whole.
enum CacheLayout {
    static let tag = "CACHEDIR.TAG"
    static let objects = "objects"
    static let algorithm = "sha256"
    static let index = "index.sqlite"
    static let temporary = "tmp"
    static let quarantine = "quarantine"

    /// The Cache Directory Tagging Specification's signature (bford.info/cachedir).
    static let tagContents = """
        Signature: 8a477f597d28d172789f06886806bc55
        # This is a cache directory made by larder. It can be deleted at any time.

        """

    /// The fan-out directory of an object: the first two digits of its digest.
    static func fanOut(_ digest: Digest) -> String { String(digest.hex.prefix(2)) }

    /// The path of an object beneath the root, for people and scripts.
    static func path(_ digest: Digest) -> String {
        "\(objects)/\(algorithm)/\(fanOut(digest))/\(digest.hex)"
    }

    /// The files that SQLite keeps beside each other.
    static let indexFiles = [index, index + "-wal", index + "-shm"]

    /// Everything that belongs directly beneath a root.
    static let ownNames: Set<String> = [tag, objects, temporary, quarantine]
}
