import Crypto
import LarderCache

/// Tells one directory of files from another, in whatever order the file system lists them.
struct Fingerprint {
    private var sum = [UInt8](repeating: 0, count: LarderCache.Digest.byteCount)

    /// That of the files in a directory, those beneath it and hidden ones left out.
    ///
    /// - Returns: nil if it was ended.
    /// - Throws: ``CacheError``, `.unusable` if one is a sparse file, which would take too long.
    static func of(
        _ directory: String, isCancelled: () -> Bool
    ) throws -> LarderCache.Digest? {
        let directory = try UsersPath(directory).directory()
        let digests = FileDigests()
        var fingerprint = Fingerprint()
        var isEnded = false
        var failure: (any Error)?
        try directory.forEachName { name in
            guard !isEnded, failure == nil, name.utf8.first != UInt8(ascii: ".") else { return }
            do {
                guard let status = try directory.status(of: name), status.isRegularFile else {
                    return
                }
                guard status.st_size <= status.plausibleBytes else {
                    throw CacheError(
                        .unusable, subject: directory.path(of: name),
                        message: "is a sparse file, which no export has made; remove it")
                }
                let digest = try digests.digest(
                    of: directory.file(name), isCancelled: isCancelled)
                isEnded = digest == nil || isCancelled()
                if let digest { fingerprint.add(name, digest) }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return isEnded ? nil : fingerprint.digest
    }

    private mutating func add(_ name: String, _ digest: LarderCache.Digest) {
        let file = SHA256.hash(data: Array("\(digest.hex) \(name)".utf8))
        for (index, byte) in file.enumerated() { sum[index] ^= byte }
    }

    private var digest: LarderCache.Digest { LarderCache.Digest(SHA256.hash(data: sum)) }
}
