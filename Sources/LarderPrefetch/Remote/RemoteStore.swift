import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// The icons that several machines share in an object store. It is asked before the origins.
///
/// The object is written first, the reference to it last: the reference is the commit. What is read
/// is digested before it is used, whatever the store says of it.
package struct RemoteStore: Sendable {
    let storage: any ObjectStorage
    let listed: ListedCount

    /// What a listing says of a resource.
    package struct Known: Sendable, Hashable {
        let digest: Digest
        /// When the reference was written, by the store's clock.
        let modified: Date
    }

    /// Opens a remote in an object store.
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
            digest: Digest(of: reference).hex, mediaType: "application/json")
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

/// Counts the objects that a listing of a remote has named.
package final class ListedCount: Sendable {
    private let maximum: Int
    private let count = Atomic(0)
    /// A page with fewer names counts as this many unless it is the last. A server may send pages
    /// that are not full, but a million pages of one name each would take hours.
    private static let leastOfPage = 250

    init(maximum: Int) { self.maximum = maximum }

    /// Begins to count another listing.
    func reset() { count.store(0, ordering: .relaxed) }

    /// Counts a page.
    ///
    /// - Throws: `StorageError`, `.tooLarge` if the listing has named more than the maximum.
    fileprivate func add(_ page: ListPage, of storage: any ObjectStorage) throws {
        let names = max(page.objects.count, page.next == nil ? 0 : Self.leastOfPage)
        guard count.add(names, ordering: .relaxed).newValue <= maximum else {
            throw StorageError(
                .tooLarge, subject: storage.subject(nil),
                "a listing names more than \(maximum) objects; --remote-max-objects permits more")
        }
    }
}

extension RemoteStore {
    /// Where the listing of a prefix goes on.
    struct Listing: Sendable {
        fileprivate let prefix: String
        fileprivate var last: String?
        /// Pages before it, in a row, without a name of larder's.
        fileprivate var foreignPages = 0
        /// After so many the listing ends, with an error: a stranger's need not have an end.
        static let mostForeignPages = 100

        /// The objects whose digests begin with a byte, from the first on.
        init(ofObjectsBeginningWith byte: UInt8) {
            prefix = RemoteLayout.objects(beginningWith: byte)
        }

        /// The references of a part, from the first on.
        init(ofReferencesOf part: UInt8) { prefix = RemoteLayout.references(ofPart: part) }
    }

    /// What a page of a listing has.
    struct Page<Entry: Sendable>: Sendable {
        let entries: [Entry]
        /// How many names are none of larder's.
        let foreign: Int
        /// Nil at the end.
        let next: Listing?
    }

    /// An object as a listing has it.
    typealias ListedDigest = (digest: Digest, listed: ListedObject)

    /// A reference as a listing has it.
    struct ListedReference: Sendable {
        let name: ReferenceName
        let known: Known
        var key: String { RemoteLayout.reference(name, to: known.digest) }
    }

    /// A page of the objects whose names begin with a prefix. All listings of names are made here.
    ///
    /// - Throws: `StorageError`, `.tooLarge` if the listing that it is part of has named too many.
    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        let page = try await storage.list(prefix, after: last)
        try listed.add(page, of: storage)
        return page
    }

    /// A page of objects.
    func objects(_ listing: Listing) async throws -> Page<ListedDigest> {
        try await page(listing) { object in
            RemoteLayout.digest(ofObject: object.key).map { ($0, object) }
        }
    }

    /// A page of references.
    func references(_ listing: Listing) async throws -> Page<ListedReference> {
        try await page(listing) { object in
            RemoteLayout.reference(object.key).map { name, digest in
                ListedReference(
                    name: name, known: Known(digest: digest, modified: object.modified))
            }
        }
    }

    /// The objects whose digests begin with a byte, page by page.
    func forEachObject(
        beginningWith byte: UInt8, _ body: (Page<ListedDigest>) async throws -> Void
    ) async throws {
        try await forEachPage(Listing(ofObjectsBeginningWith: byte), objects, body)
    }

    /// The references of a part, page by page.
    func forEachReference(
        ofPart part: UInt8, _ body: (Page<ListedReference>) async throws -> Void
    ) async throws {
        try await forEachPage(Listing(ofReferencesOf: part), references, body)
    }

    private func forEachPage<Entry>(
        _ first: Listing, _ read: (Listing) async throws -> Page<Entry>,
        _ body: (Page<Entry>) async throws -> Void
    ) async throws {
        var listing: Listing? = first
        while let current = listing {
            let page = try await read(current)
            try await body(page)
            listing = page.next
        }
    }

    private func page<Entry>(
        _ listing: Listing, _ entry: (ListedObject) -> Entry?
    ) async throws -> Page<Entry> {
        let page = try await list(listing.prefix, after: listing.last)
        let entries = page.objects.compactMap(entry)
        return Page(
            entries: entries, foreign: page.objects.count - entries.count,
            next: try page.next.map { last in
                var next = listing
                next.last = last
                next.foreignPages = entries.isEmpty ? listing.foreignPages + 1 : 0
                guard next.foreignPages < Listing.mostForeignPages else {
                    throw StorageError(
                        .malformed, subject: storage.subject(listing.prefix),
                        "\(next.foreignPages) pages of the listing have no name of larder's")
                }
                return next
            })
    }
}

extension Int64 {
    /// Adds a size that a store tells, which may be anything.
    mutating func addForeign(_ size: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        self = isTooLarge ? .max : sum
    }
}
