import Foundation
import LarderCache
import LarderS3
import LarderTransfer
import Synchronization

import struct Crypto.SHA256

/// Icons that several machines share, in an object store: the tier between a cache directory and
/// the origins.
///
/// The object is written first, the reference to it last: the reference is the commit. What is read
/// is digested before it is used, whatever the store says of it.
package struct SharedTier: Sendable {
    let storage: any ObjectStorage
    let listed: ListedCount

    /// What a listing says of a resource.
    package struct Known: Sendable, Hashable {
        let digest: Digest
        /// When the reference was written, by the store's clock.
        let modified: Date
    }

    /// A tier in a store.
    ///
    /// - Parameter maximumListed: the maximum number of objects that one listing may name. Default:
    ///   no limit.
    package init(_ storage: any ObjectStorage, maximumListed: Int = .max) {
        self.storage = storage
        listed = ListedCount(maximum: maximumListed)
    }

    /// The reference of a resource.
    ///
    /// - Throws: `StorageError`, `.malformed` if it is another resource's, or nothing that can be.
    func reference(
        to name: ReferenceName, _ digest: Digest, key: String
    ) async throws -> Reference {
        let place = RemoteLayout.reference(name, to: digest)
        let bytes = try await storage.bytes(place, maximumBytes: Reference.sizeLimit)
        guard let reference = Reference(bytes), reference.resourceKey.isSame(as: key) else {
            throw StorageError(
                .malformed, subject: storage.subject(place), "the reference cannot be used")
        }
        return reference
    }

    /// Receives an object, not yet digested.
    func receive(_ digest: Digest, limit: Int64, into store: Store) async throws -> StagedBody {
        let body = Received()
        try await storage.get(RemoteLayout.object(digest), maximumBytes: limit) { resume in
            let new = store.newBody(onDrained: resume)
            body.replace(new)
            return { try new.append($0) == .taken }
        }
        return body.value ?? store.newBody {}
    }

    /// Stores a resource: its object unless that is there, then its reference.
    ///
    /// Evictors take objects without references and look for new references after they did
    /// (``RemoteEvictor``). Here the reference is written, and then the object looked for: whoever
    /// is second sees what the other did.
    ///
    /// - Parameters:
    ///   - known: what the remote has of the resource, if anything.
    ///   - isThere: whether the object is believed to be there.
    /// - Returns: how many bytes were sent.
    func keep(
        _ resource: Resource, of cache: Cache, replacing known: Known?, isThere: Bool
    ) async throws -> Int64 {
        var resource = resource
        resource.object = cache.sized(resource.object)
        let name = ReferenceName(key: resource.key, url: resource.url)
        let object = resource.object
        let place = RemoteLayout.object(object.digest)
        var sent: Int64 = 0
        let isWhole = try await isThere ? storage.head(place)?.size == object.size : false
        if !isWhole { sent += try await put(object, of: cache) }
        let reference = Reference(resource).bytes
        try await storage.put(
            RemoteLayout.reference(name, to: object.digest), RequestBody(reference),
            digest: Digest(SHA256.hash(data: reference)).hex, mediaType: "application/json")
        sent += Int64(reference.count)
        var attempts = 0
        while try await storage.head(place)?.size != object.size {
            attempts += 1
            guard attempts < 5 else {
                throw StorageError(
                    .refused, subject: storage.subject(place), "does not stay where it was written")
            }
            sent += try await put(object, of: cache)
        }
        if let known, known.digest != object.digest {
            try await storage.delete(RemoteLayout.reference(name, to: known.digest))
        }
        return sent
    }

    /// Writes an object of a cache.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if its bytes are others than its digest says.
    func put(_ object: StoredObject, of cache: Cache) async throws -> Int64 {
        let outgoing = try cache.outgoing(object)
        do {
            try await storage.put(
                RemoteLayout.object(object.digest),
                RequestBody(count: outgoing.size) { outgoing.read(at: $0, into: $1) },
                digest: object.digest.hex, mediaType: object.mediaType)
        } catch let error as StorageError where outgoing.isCorrupt {
            throw CacheError(
                .corrupt, subject: "\(object.digest)",
                message: "the bytes have another digest (\(error.code.rawValue))")
        }
        return object.size
    }
}

/// The body that the last attempt filled.
private final class Received: Sendable {
    private let body = Mutex<StagedBody?>(nil)

    var value: StagedBody? { body.withLock { $0 } }

    func replace(_ new: StagedBody) { body.withLock { $0 = new } }
}
