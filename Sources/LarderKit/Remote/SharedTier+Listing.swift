import LarderCache
import LarderS3
import Synchronization

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

extension SharedTier {
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
