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
}
