import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// The icons that several machines share in an object store. The object is written before the
/// reference, which is the commit. Everything is digested before it is used.
package final class RemoteStore: Sendable {
    let storage: any ObjectStore
    private let maximumListed: Int
    private let listed = Atomic(0)
    /// A page with fewer names counts as this many unless it is the last. A server may send pages
    /// that are not full, but a million pages of one name each would take hours.
    private static let leastOfPage = 250

    package struct Known: Sendable, Hashable {
        /// The tolerated difference of two machines' clocks, in seconds.
        static let clockSkew: TimeInterval = 300

        let digest: Digest
        let modified: Date
    }

    package init(_ storage: any ObjectStore, maximumListed: Int = .max) {
        self.storage = storage
        self.maximumListed = maximumListed
    }

    /// Returns a checked reference of a resource.
    func reference(to name: ReferenceName, _ digest: Digest, key: String) async throws -> Reference
    {
        let place = RemoteLayout.reference(name, to: digest)
        let bytes = try await storage.bytes(place, maximumBytes: Reference.sizeLimit)
        guard let reference = Reference(bytes), reference.resourceKey.isSame(as: key) else {
            throw RemoteError(
                .malformed, subject: storage.subject(place), "the reference cannot be used")
        }
        return reference
    }

    /// Receives an object, which is not digested yet, and the reference in its metadata.
    func receive(
        _ digest: Digest, limit: Int64, into store: Store
    ) async throws -> (body: StagedBody, reference: Reference?) {
        let body = Mutex<StagedBody?>(nil)
        let metadata = try await storage.get(
            RemoteLayout.object(digest), maximumBytes: limit
        ) { resume in
            let new = store.newBody(onDrained: resume)
            body.withLock { $0 = new }
            return { try new.append($0) == .taken }
        }
        let last = body.withLock { $0 } ?? store.newBody {}
        return (last, metadata.flatMap { Reference(metadata: $0) })
    }

    /// Stores a resource: its object unless it is believed to be there, then its reference. Returns
    /// the number of bytes sent.
    ///
    /// The object has a copy of the reference as its metadata, so that one request reads both. An
    /// object of several URLs has that of the URL that stored it.
    ///
    /// An eviction removes objects and then checks for new references (``RemoteEvictor``). Here the
    /// reference is written and then the object is checked, so whichever is second sees the first.
    func keep(
        _ resource: Resource, of cache: Cache, replacing known: Known?, isThere: Bool
    ) async throws -> Int64 {
        var resource = resource
        resource.object = cache.sized(resource.object)
        let name = ReferenceName(key: resource.key, url: resource.url)
        let object = resource.object
        let place = RemoteLayout.object(object.digest)
        let record = Reference(resource)
        let (reference, metadata) = (record.bytes, record.metadata)
        var sent: Int64 = 0
        let isWhole = try await isThere ? storage.head(place)?.size == object.size : false
        if !isWhole { sent += try await put(object, of: cache, metadata: metadata) }
        try await storage.put(
            RemoteLayout.reference(name, to: object.digest), RequestBody(reference),
            digest: Digest(of: reference).hex, mediaType: "application/json")
        sent += Int64(reference.count)
        var attempts = 0
        while try await storage.head(place)?.size != object.size {
            attempts += 1
            guard attempts < 5 else {
                throw RemoteError(
                    .refused, subject: storage.subject(place), "does not stay where it was written")
            }
            sent += try await put(object, of: cache, metadata: metadata)
        }
        if let known, known.digest != object.digest {
            try await storage.delete(RemoteLayout.reference(name, to: known.digest))
        }
        return sent
    }

    /// Writes an object of a cache. Throws `.corrupt` if its bytes have another digest.
    func put(
        _ object: StoredObject, of cache: Cache, metadata: String? = nil
    ) async throws -> Int64 {
        let outgoing = try cache.outgoing(object)
        do {
            try await storage.put(
                RemoteLayout.object(object.digest),
                RequestBody(count: outgoing.size) { outgoing.read(at: $0, into: $1) },
                digest: object.digest.hex, mediaType: object.mediaType, metadata: metadata)
        } catch let error as RemoteError where outgoing.isCorrupt {
            throw CacheError(
                .corrupt, subject: "\(object.digest)",
                message: "the bytes have another digest (\(error.code.rawValue))")
        }
        return object.size
    }
}

extension RemoteStore {
    /// A listing fails after this many pages in a row without a name of Larder's: it need not end.
    private static let mostForeignPages = 100

    struct Page<Entry: Sendable>: Sendable {
        let entries: [Entry]
        /// The number of names that are not Larder's.
        let foreign: Int
    }

    typealias ListedDigest = (digest: Digest, listed: ListedObject)

    struct ListedReference: Sendable {
        let name: ReferenceName
        let known: Known
        var key: String { RemoteLayout.reference(name, to: known.digest) }
    }

    /// Returns a page of the objects whose names begin with a prefix. Counts them for the limit.
    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        let page = try await storage.list(prefix, after: last)
        let names = max(page.objects.count, page.next == nil ? 0 : Self.leastOfPage)
        guard listed.add(names, ordering: .relaxed).newValue <= maximumListed else {
            throw RemoteError(
                .tooLarge, subject: storage.subject(nil),
                "a listing names more than \(maximumListed) objects; "
                    + "--remote-max-objects permits more")
        }
        return page
    }

    /// Begins a listing: names are counted for each.
    func beginListing() { listed.store(0, ordering: .relaxed) }

    func forEachObject(
        beginningWith byte: UInt8, _ body: (Page<ListedDigest>) async throws -> Void
    ) async throws {
        try await forEachPage(of: RemoteLayout.objects(beginningWith: byte), body) { object in
            RemoteLayout.digest(ofObject: object.key).map { ($0, object) }
        }
    }

    func forEachReference(
        ofPart part: UInt8, _ body: (Page<ListedReference>) async throws -> Void
    ) async throws {
        try await forEachPage(of: RemoteLayout.references(ofPart: part), body) { object in
            RemoteLayout.reference(object.key).map { name, digest in
                ListedReference(name: name, known: Known(digest: digest, modified: object.modified))
            }
        }
    }

    private func forEachPage<Entry>(
        of prefix: String, _ body: (Page<Entry>) async throws -> Void,
        entry: (ListedObject) -> Entry?
    ) async throws {
        var last: String?
        var foreignPages = 0
        repeat {
            let page = try await list(prefix, after: last)
            let entries = page.objects.compactMap(entry)
            last = page.next
            foreignPages = entries.isEmpty ? foreignPages + 1 : 0
            guard last == nil || foreignPages < Self.mostForeignPages else {
                throw RemoteError(
                    .malformed, subject: storage.subject(prefix),
                    "\(foreignPages) pages of the listing have no name of larder's")
            }
            try await body(Page(entries: entries, foreign: page.objects.count - entries.count))
        } while last != nil
    }
}

extension Int64 {
    /// Adds a size that a store tells, which may be anything.
    mutating func addForeign(_ size: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        self = isTooLarge ? .max : sum
    }
}
