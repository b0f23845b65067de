import Crypto
import LarderCache

/// Tells one set of files from another.
struct Fingerprint {
    private var hasher = SHA256()

    /// Adds a file, by its name and its bytes.
    mutating func add(_ name: String, _ digest: LarderCache.Digest) {
        // No name has a line's end: names are digests, or were made safe.
        hasher.update(data: Array("\(name) \(digest.hex)\n".utf8))
    }

    var digest: LarderCache.Digest { LarderCache.Digest(hasher.finalize()) }
}
