import LarderCache
import LarderS3

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
        let page = try await storage.list(listing.prefix, after: listing.last)
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
