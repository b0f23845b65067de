import Foundation
import LarderCache
import LarderCore
import LarderHTTP
import Synchronization

/// Icons that several machines share in an object store. An object is committed by its reference,
/// which is written after it. All bytes are checked against their digest before use.
package final class RemoteStore: Sendable {
    let storage: any ObjectStore
    private let maximumListed: Int
    private let listed = Atomic(0)
    /// Each page but the last counts as at least this many names. A million pages would take hours.
    private static let minimumPageCount = 250

    package struct Known: Sendable, Hashable {
        /// The tolerated difference between the clocks of two machines, in seconds.
        static let clockSkew: TimeInterval = 300
        let digest: Digest
        let modified: Date
    }

    package init(_ storage: any ObjectStore, maximumListed: Int = .max) {
        (self.storage, self.maximumListed) = (storage, maximumListed)
    }

    func reference(key: String, url: String, _ digest: Digest) async throws -> Reference {
        let place = RemoteLayout.reference(ReferenceName(key: key, url: url), to: digest)
        let bytes = try await storage.bytes(place, maximumBytes: Reference.sizeLimit)
        guard let reference = Reference(bytes), reference.resourceKey.isSame(as: key) else {
            throw RemoteError(
                .malformed, subject: storage.subject(place), "the reference is not a valid record")
        }
        return reference
    }

    typealias Received = (body: StagedBody, reference: Reference?)

    /// Receives an object without checking its digest.
    func receive(_ digest: Digest, limit: Int64, into store: Store) async throws -> Received {
        let body = Mutex<StagedBody?>(nil)
        let metadata = try await storage.get(
            RemoteLayout.object(digest), maximumBytes: limit
        ) { resume in
            let new = store.newBody(onDrained: resume)
            body.withLock { $0 = new }
            return { try new.append($0) }
        }
        let reference = metadata.flatMap { Reference(metadata: $0) }
        return (body.withLock { $0 } ?? store.newBody {}, reference)
    }

    /// Stores an object unless it exists, then its reference, and then checks that no eviction has
    /// removed the object (see ``RemoteEvictor``). The object's metadata is a copy of its first
    /// reference, so that one request reads both. Returns the number of bytes sent.
    func keep(
        _ resource: Resource, of cache: Cache, replacing known: Known?, isThere: Bool
    ) async throws -> Int64 {
        var resource = resource
        resource.object = cache.sized(resource.object)
        let name = ReferenceName(key: resource.key, url: resource.url)
        let (object, record) = (resource.object, Reference(resource))
        let place = RemoteLayout.object(object.digest)
        let (reference, metadata) = (record.bytes, record.metadata)
        let isWhole = try await isThere ? storage.head(place)?.size == object.size : false
        var sent = try await isWhole ? 0 : put(object, of: cache, metadata: metadata)
        try await storage.put(
            RemoteLayout.reference(name, to: object.digest), RequestBody(reference),
            digest: Digest(of: reference).hex, mediaType: "application/json")
        sent += Int64(reference.count)
        var attempts = 0
        while try await storage.head(place)?.size != object.size {
            attempts += 1
            guard attempts < 5 else {
                throw RemoteError(
                    .refused, subject: storage.subject(place),
                    "the object is still missing after \(attempts) attempts to write it")
            }
            sent += try await put(object, of: cache, metadata: metadata)
        }
        if let known, known.digest != object.digest {
            try await storage.delete(RemoteLayout.reference(name, to: known.digest))
        }
        return sent
    }

    func put(
        _ object: StoredObject, of cache: Cache, metadata: String? = nil
    ) async throws -> Int64 {
        let file = try cache.outgoing(object)
        try await storage.put(
            RemoteLayout.object(object.digest),
            RequestBody(count: file.size) { file.read(at: $0, upTo: $1) },
            digest: object.digest.hex, mediaType: object.mediaType, metadata: metadata)
        return object.size
    }
}

extension RemoteStore {
    private static let maximumForeignPages = 100

    typealias Page<Entry> = (entries: [Entry], foreign: Int)

    package struct ListedReference: Sendable {
        let name: ReferenceName
        let known: Known
        var key: String { RemoteLayout.reference(name, to: known.digest) }

        init?(_ object: ListedObject) {
            func text(_ start: Int, _ count: Int) -> String {
                String(decoding: object.key.utf8.dropFirst(start).prefix(count), as: UTF8.self)
            }
            guard object.key.utf8.count == 137, let part = UInt8(text(5, 2), radix: 16),
                let name = Digest(hex: text(8, 64)), let digest = Digest(hex: text(73, 64))
            else { return nil }
            self.name = ReferenceName(part: part, name: name)
            known = Known(digest: digest, modified: object.modified)
            guard key == object.key else { return nil }
        }
    }

    func list(_ prefix: String, after last: String?) async throws -> ListPage {
        let page = try await storage.list(prefix, after: last)
        let names = max(page.objects.count, page.next == nil ? 0 : Self.minimumPageCount)
        guard listed.add(names, ordering: .relaxed).newValue <= maximumListed else {
            throw RemoteError(
                .tooLarge, subject: storage.subject(nil),
                "a listing contains more than \(maximumListed) names; "
                    + "--remote-max-objects permits more")
        }
        return page
    }

    func beginListing() { listed.store(0, ordering: .relaxed) }

    func forEachObject(
        beginningWith byte: UInt8,
        _ body: (Page<(digest: Digest, listed: ListedObject)>) async throws -> Void
    ) async throws {
        try await forEachPage(of: "\(RemoteLayout.objects)\(String.hex([byte]))/", body) { object in
            RemoteLayout.digest(ofObject: object.key).map { ($0, object) }
        }
    }

    func forEachReference(
        ofPart part: UInt8, _ body: (Page<ListedReference>) async throws -> Void
    ) async throws {
        try await forEachPage(
            of: RemoteLayout.references(ofPart: part), body, entry: ListedReference.init)
    }

    private func forEachPage<Entry: Sendable>(
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
            guard last == nil || foreignPages < Self.maximumForeignPages else {
                throw RemoteError(
                    .malformed, subject: storage.subject(prefix),
                    "\(foreignPages) consecutive listing pages have no objects or references")
            }
            try await body((entries, page.objects.count - entries.count))
        } while last != nil
    }

    /// Looks up sorted names in the part's sorted listing, in one pass over both. Reports only the
    /// newest reference to each resource. `next` returns ascending names after `last`.
    package func look(
        in part: UInt8, atOnce width: Int, for next: @escaping (_ last: Digest?) throws -> [Digest],
        found report: @escaping @Sendable ([ListedReference]) throws -> Void
    ) async throws {
        let prefix = RemoteLayout.references(ofPart: part)
        var names = Pages(next)
        var wanted = try names.next()
        var found: [ListedReference] = []
        var last: String?
        while let first = wanted {
            let page = try await list(prefix, after: max(last ?? "", prefix + first.hex))
            var passed = 0
            for reference in page.objects.compactMap(ListedReference.init) {
                while let name = wanted, name < reference.name.name {
                    passed += 1
                    wanted = try names.next()
                }
                if wanted == reference.name.name { add(reference, to: &found) }
            }
            guard let end = page.next else { break }
            last = end
            if passed < 2 {
                // The next page may have more references with this name.
                if let wanted, found.last?.name.name == wanted { found.removeLast() }
                try report(found)
                // Requests the other names one by one, because most names on a page are not wanted.
                return try await forEach(atOnce: width) {
                    defer { wanted = nil }
                    return try wanted ?? names.next()
                } _: { [self] name in
                    try await report(look(for: ReferenceName(part: part, name: name)))
                }
            }
            try report(Array(found.dropLast()))
            found.removeFirst(max(0, found.count - 1))
        }
        try report(found)
    }

    private func look(for name: ReferenceName) async throws -> [ListedReference] {
        var found: [ListedReference] = []
        var last: String?
        // Ten pages are enough, because Larder writes few references to one resource.
        for _ in 0..<10 {
            let page = try await list(RemoteLayout.references(to: name), after: last)
            for reference in page.objects.compactMap(ListedReference.init) {
                add(reference, to: &found)
            }
            last = page.next
            if last == nil { break }
        }
        return found
    }

    /// Replaces an older reference to the same resource. Two machines may write at the same time.
    private func add(_ new: ListedReference, to found: inout [ListedReference]) {
        guard let last = found.last, last.name == new.name else { return found.append(new) }
        if (new.known.modified, new.known.digest) > (last.known.modified, last.known.digest) {
            found[found.count - 1] = new
        }
    }
}

extension Int64 {
    /// Adds an untrusted size. The sum is limited to `Int64.max`.
    mutating func addForeign(_ size: Int64) {
        let (sum, isTooLarge) = addingReportingOverflow(size)
        self = isTooLarge ? .max : sum
    }
}
