import Foundation

extension Cache {
    /// Objects up to this size are held in memory until their digest is known, in bytes. A larger
    /// one is read twice.
    private static let largestHeld = 1 << 20

    /// Hands over the bytes of an object, piece by piece, once all of them have its digest. The
    /// sizes that the index and the file state allocate nothing.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if the bytes are gone or are other bytes, ``isSparse``
    ///   if they are not read; what `body` throws.
    package func forEachPiece(
        of object: StoredObject, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) throws {
        let file = try openFile(object.digest)
        let reader = reader()
        var held: [UInt8] = []
        var count = 0
        let read = try reader.digest(file, expecting: object.digest, isCancelled: { false }) {
            (bytes) throws(CacheError) in
            if count + bytes.count <= Self.largestHeld { held += bytes }
            count += bytes.count
        }
        guard read?.digest == object.digest else { throw Self.otherDigest(object.digest) }
        if count == held.count { return try held.withUnsafeBytes(body) }
        guard lseek(file.raw, 0, SEEK_SET) == 0 else {
            throw CacheError("seek", subject: file.subject, errno: errno)
        }
        var failure: (any Error)?
        let again = try reader.digest(
            file, expecting: object.digest, isCancelled: { failure != nil }
        ) { (bytes) throws(CacheError) in
            do { try body(bytes) } catch { failure = error }
        }
        if let failure { throw failure }
        // An owner who writes to the file in place.
        guard again?.digest == object.digest else { throw Self.otherDigest(object.digest) }
    }

    /// Lends an object too long for ``bytes(of:)``: a descriptor at its beginning, the caller's to
    /// close. Its bytes were checked against the digest, and stay whatever an eviction takes
    /// meanwhile.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if they are gone or are other bytes.
    package func descriptor(of object: StoredObject) throws(CacheError) -> Int32 {
        let file = try directory.open(object.digest)
        _ = try confirm(file, is: object)
        let descriptor = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        guard descriptor >= 0, lseek(descriptor, 0, SEEK_SET) == 0 else {
            throw CacheError("open", subject: "\(object.digest)", errno: errno)
        }
        return descriptor
    }

    /// Compares a file with the digest of an object.
    ///
    /// - Returns: false if that was cancelled.
    /// - Throws: ``CacheError`` `.corrupt` if it has other bytes.
    package func confirm(
        _ file: FileDescriptor, is object: StoredObject, isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> Bool {
        let read = try reader().digest(file, expecting: object.digest, isCancelled: isCancelled)
        guard let read else { return false }
        guard read.digest == object.digest else { throw Self.otherDigest(object.digest) }
        return true
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
