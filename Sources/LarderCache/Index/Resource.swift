import Foundation
import LarderCore

/// A URL, the object it last resolved to, and how to ask for it again.
public struct Resource: Sendable {
    /// The key for look-ups: one spelling of the URL for all that are equal, or the manifest's
    /// `key` if the URL is signed or rotates, or the name of bytes that a manifest held.
    public let key: String
    /// The URL it was last fetched from, in canonical spelling; of bytes that a manifest held their
    /// name.
    public let url: String
    /// Where redirects led: whose validators these are.
    public let responseURL: String
    /// The object it resolved to.
    public package(set) var object: StoredObject
    /// What the origin said about its age and version.
    public let validators: Validators
    /// Which variant it is, if the request's header fields selected it; their digest, as
    /// ``Vary/variant(for:)`` has it.
    package let variant: Digest?
    /// When the response was received or last confirmed.
    public let receivedAt: Date
    /// Until when it may be used without asking again.
    public let freshUntil: Date

    /// Whether it may be used at `instant` without asking its origin.
    ///
    /// Not if it was received later than that: a clock was set back, and whatever it said then is
    /// worth nothing.
    public func isFresh(at instant: Date = Date()) -> Bool {
        freshUntil > instant && receivedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    /// False if the key is the name of other bytes: the row is then worth nothing.
    var isAsNamed: Bool { ResourceKey.mayName(object.digest, key.utf8) }

    /// Whether it is fresh, of a row of `resources r`, as an SQL condition.
    package static func isFresh(at instant: Date) -> String {
        let now = instant.timeIntervalSince1970
        return "(r.fresh_until > \(now) AND r.received_at <= \(now + Freshness.clockSkew))"
    }

    static let columns = """
        r.key, r.url, r.etag, r.last_modified, r.date, r.age, r.cache_control, r.expires,
        r.received_at, r.fresh_until, r.vary, r.variant, r.response_url, \(StoredObject.columns)
        """

    /// The places of ``columns``; from the last one on they are the object's.
    private enum Column {
        static let key: CInt = 0
        static let url: CInt = 1
        static let etag: CInt = 2
        static let lastModified: CInt = 3
        static let date: CInt = 4
        static let age: CInt = 5
        static let cacheControl: CInt = 6
        static let expires: CInt = 7
        static let receivedAt: CInt = 8
        static let freshUntil: CInt = 9
        static let vary: CInt = 10
        static let variant: CInt = 11
        static let responseURL: CInt = 12
        static let object: CInt = 13
    }

    init(_ row: PreparedStatement) throws {
        var validators = Validators()
        validators.etag = row.text(Column.etag)
        validators.lastModified = row.text(Column.lastModified)
        validators.date = row.text(Column.date)
        validators.age = row.isNull(Column.age) ? nil : try row.requireTime(Column.age)
        validators.cacheControl = row.text(Column.cacheControl)
        validators.expires = row.text(Column.expires)
        validators.vary = row.text(Column.vary)
        self.validators = validators
        key = try row.requireText(Column.key)
        url = row.text(Column.url) ?? key
        responseURL = row.text(Column.responseURL) ?? url
        receivedAt = Date(timeIntervalSince1970: try row.requireTime(Column.receivedAt))
        freshUntil = Date(timeIntervalSince1970: try row.requireTime(Column.freshUntil))
        variant = row.isNull(Column.variant) ? nil : try row.requireDigest(Column.variant)
        object = try StoredObject(row, startingAt: Column.object)
    }
}

extension Resource {
    /// Its URL as an output shows it.
    package var shownURL: String { url.shown(asURLOf: key) }
}

/// Bytes in the cache, named by their digest, and what is known of them.
public struct StoredObject: Sendable {
    /// The SHA-256 digest of the bytes.
    public let digest: Digest
    /// How many bytes there are.
    public internal(set) var size: Int64
    /// The media type by content, such as `image/png`; nil if it is not a known image.
    public let mediaType: String?
    /// The width in pixels, if the format has one.
    public let width: Int?
    /// The height in pixels, if the format has one.
    public let height: Int?
    /// When it was stored.
    public let storedAt: Date
    /// When one of its resources was last used, within an hour.
    public let usedAt: Date

    /// The path of the object's file beneath the cache root.
    public var path: String { CacheLayout.path(digest) }

    /// The columns that ``init(_:startingAt:)`` reads, of `objects o`.
    package static let columns =
        "o.digest, o.size, o.media_type, o.width, o.height, o.stored_at, o.used_at"

    /// Whether a text of somebody's index can be a media type (RFC 6838, section 4.2): it is
    /// printed, and compared, as it is.
    private static func isMediaType(_ text: String) -> Bool {
        text.utf8.count <= 255 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// A terabyte: sums of more would not fit.
    package static let largest: Int64 = 1 << 40

    /// - Throws: `DatabaseError`, `SQLITE_CORRUPT` if a column has not what the schema asks for.
    package init(_ row: PreparedStatement, startingAt first: CInt = 0) throws {
        digest = try row.requireDigest(first)
        size = try row.requireInteger(first + 1, in: 0...Self.largest)
        mediaType = row.text(first + 2).flatMap { Self.isMediaType($0) ? $0 : nil }
        width = row.optionalInteger(first + 3).map(Int.init)
        height = row.optionalInteger(first + 4).map(Int.init)
        storedAt = Date(timeIntervalSince1970: try row.requireTime(first + 5))
        usedAt = Date(timeIntervalSince1970: try row.requireTime(first + 6))
    }
}

/// An object and where the index has it.
package struct IndexedObject: Sendable {
    /// The number of its row, which another object may have when it is gone.
    package let row: Int64
    package let digest: Digest

    package init(row: Int64, digest: Digest) {
        self.row = row
        self.digest = digest
    }
}
