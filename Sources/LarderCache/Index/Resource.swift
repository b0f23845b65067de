import Foundation
import LarderCore

/// A URL, the object it last resolved to, and how to ask for it again.
public struct Resource: Sendable {
    /// The key for look-ups: one spelling of the URL for all that are equal, or the manifest's
    /// `key` if the URL is signed or rotates, or the name of bytes that a manifest held.
    public let key: String
    /// The URL it was last fetched from, in canonical spelling, or the name of bytes that a
    /// manifest held.
    public let url: String
    /// Where redirects led: whose validators these are.
    public let responseURL: String
    /// The object it resolved to.
    public package(set) var object: StoredObject
    /// What the origin said about its age and version.
    public let validators: Validators
    /// The digest of the header fields that selected it, as ``Vary/variant(for:)`` has it.
    package let variant: Digest?
    /// When the response was received or last confirmed.
    public let receivedAt: Date
    /// Until when it may be used without asking again.
    public let freshUntil: Date

    /// Whether it may be used at `instant` without asking its origin. Not if it was received later
    /// than that, because then a clock was set back.
    public func isFresh(at instant: Date = Date()) -> Bool {
        freshUntil > instant && receivedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    /// False if the key is the name of other bytes: the row is then worth nothing.
    var isAsNamed: Bool { ResourceKey.mayName(object.digest, key.utf8) }

    package static func isFresh(at instant: Date) -> String {
        let now = instant.timeIntervalSince1970
        return "(r.fresh_until > \(now) AND r.received_at <= \(now + Freshness.clockSkew))"
    }

    static let columns = """
        r.etag, r.last_modified, r.date, r.age, r.cache_control, r.expires, r.vary,
        r.key, r.url, r.response_url, r.received_at, r.fresh_until, r.variant,
        \(StoredObject.columns)
        """

    init(_ row: inout RowReader) throws {
        var validators = Validators()
        validators.etag = row.text()
        validators.lastModified = row.text()
        validators.date = row.text()
        validators.age = try row.optional { try $0.requireTime() }
        validators.cacheControl = row.text()
        validators.expires = row.text()
        validators.vary = row.text()
        self.validators = validators
        key = try row.requireText()
        url = row.text() ?? key
        responseURL = row.text() ?? url
        receivedAt = try row.requireDate()
        freshUntil = try row.requireDate()
        variant = try row.optional { try $0.requireDigest() }
        object = try StoredObject(&row)
    }

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

    /// What a check of the bytes found out when they were stored.
    public var attributes: ObjectAttributes {
        ObjectAttributes(mediaType: mediaType, width: width, height: height)
    }

    package static let columns =
        "o.digest, o.size, o.media_type, o.width, o.height, o.stored_at, o.used_at"

    /// Whether a text can be a media type (RFC 6838, section 4.2): it is printed as it is.
    private static func isMediaType(_ text: String) -> Bool {
        text.utf8.count <= 255 && text.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }

    /// A terabyte: sums of more would not fit.
    package static let largest: Int64 = 1 << 40

    package init(_ row: inout RowReader) throws {
        digest = try row.requireDigest()
        size = try row.requireInteger(in: 0...Self.largest)
        mediaType = row.text().flatMap { Self.isMediaType($0) ? $0 : nil }
        width = row.optionalInteger().map(Int.init)
        height = row.optionalInteger().map(Int.init)
        storedAt = try row.requireDate()
        usedAt = try row.requireDate()
    }
}

package struct IndexedObject: Sendable {
    /// The number of its row, which another object may have when it is gone.
    package let row: Int64
    package let digest: Digest

    package init(row: Int64, digest: Digest) {
        self.row = row
        self.digest = digest
    }
}

/// What a check of the bytes found out about them.
public struct ObjectAttributes: Sendable, Equatable {
    /// The media type by content; nil if it is not a known image.
    public var mediaType: String?
    /// The width in pixels, if the format has one.
    public var width: Int?
    /// The height in pixels, if the format has one.
    public var height: Int?

    /// Attributes; all unknown by default.
    public init(mediaType: String? = nil, width: Int? = nil, height: Int? = nil) {
        self.mediaType = mediaType
        self.width = width
        self.height = height
    }
}
