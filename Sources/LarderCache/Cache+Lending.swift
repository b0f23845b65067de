import Foundation

extension Cache {
    /// Lends an object too long for ``bytes(of:)``: a descriptor at its beginning, the caller's to
    /// close. Its bytes were checked against the digest, and stay whatever an eviction takes
    /// meanwhile.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if they are gone or are other bytes.
    package func descriptor(of object: StoredObject) throws(CacheError) -> Int32 {
        let subject = "\(object.digest)"
        let file = try directory.open(object.digest)
        guard let found = try ObjectReader().digest(file), found == (object.digest, object.size)
        else {
            throw CacheError(.corrupt, subject: subject, message: "the bytes have another digest")
        }
        let descriptor = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw CacheError("open", subject: subject, errno: errno)
        }
        return descriptor
    }

    /// The same, and what the file is. Its bytes are not compared with the digest again if it is
    /// `known` to be that.
    package func lend(
        _ object: StoredObject, unlessKnown known: FileIdentity?
    ) throws(CacheError) -> (file: LentFile, identity: FileIdentity) {
        let (file, identity) = try open(object)
        if identity != known {
            guard let found = try ObjectReader().digest(file), found == (object.digest, object.size)
            else {
                throw CacheError(
                    .corrupt, subject: "\(object.digest)",
                    message: "the bytes have another digest")
            }
        }
        return (LentFile(file, size: object.size), identity)
    }

    /// An object's file, if it is still the one that was compared with the digest and can be opened
    /// without waiting for a disk; nil if that is not so, or not known.
    package func lendAtOnce(_ digest: Digest, size: Int64, known: FileIdentity) -> LentFile? {
        guard let file = directory.openAtOnce(digest), let status = try? file.status(),
            FileIdentity(status) == known
        else { return nil }
        return LentFile(file, size: size)
    }

    /// A number that is another one once anybody has changed the index, this process included; nil
    /// if there is no index.
    package func indexVersion() throws(CacheError) -> Int64? { try index?.version() }

    /// The index's file of the cache that is at `path` now; nil if there is none.
    package static func indexFile(ofCacheAt path: String) -> FileIdentity? {
        FileIdentity(path: "\(path)/\(CacheLayout.index)")
    }
}
