import Foundation
import LarderCore

/// A URL, its latest object, and its validators.
public struct Resource: Sendable {
    /// The key for lookups: the normalized URL, the manifest's `key` if the URL is signed or
    /// rotates, or the name of an embedded icon.
    public let key: String
    /// The canonical URL of the last download, or the name of an embedded icon.
    public let url: String
    /// The URL after redirects, to which the validators belong.
    public let responseURL: String
    /// The latest object.
    public package(set) var object: StoredObject
    /// The header fields about the response's age and version.
    public private(set) var validators = Validators()
    package let variant: Digest?
    /// The time of the response or its last confirmation.
    public let receivedAt: Date
    /// The time until which the response is fresh.
    public let freshUntil: Date

    /// Whether the response is fresh. Also false if the clock was set back before `receivedAt`.
    public func isFresh(at instant: Date = Date()) -> Bool {
        freshUntil > instant && receivedAt <= instant.addingTimeInterval(Freshness.clockSkew)
    }

    /// Whether the key can belong to the object. Otherwise, the row is ignored.
    var isAsNamed: Bool { ResourceKey.mayName(object.digest, Array(key.utf8)) }

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
        validators.etag = row.text()
        validators.lastModified = row.text()
        validators.date = row.text()
        validators.age = try row.optional { try $0.requireTime() }
        validators.cacheControl = row.text()
        validators.expires = row.text()
        validators.vary = row.text()
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

/// The description of an object in the index.
public struct StoredObject: Sendable {
    /// The SHA-256 digest of the bytes.
    public let digest: Digest
    /// The number of bytes.
    public internal(set) var size: Int64
    /// The media type, for example `image/png`; nil if the object is not a known image.
    public let mediaType: String?
    /// The width in pixels; nil if unknown.
    public let width: Int?
    /// The height in pixels; nil if unknown.
    public let height: Int?
    /// The time of storage.
    public let storedAt: Date
    /// The time of the last use, to within an hour.
    public let usedAt: Date

    /// The path of the file, relative to the cache's root.
    public var path: String { CacheLayout.path(digest) }

    /// The media type and dimensions.
    public var attributes: ObjectAttributes {
        ObjectAttributes(mediaType: mediaType, width: width, height: height)
    }

    package static let columns =
        "o.digest, o.size, o.media_type, o.width, o.height, o.stored_at, o.used_at"

    /// The maximum size in bytes: 1 TiB. The sum of larger sizes could overflow.
    package static let largest: Int64 = 1 << 40

    package init(_ row: inout RowReader) throws {
        digest = try row.requireDigest()
        size = try row.requireInteger(in: 0...Self.largest)
        // A media type is printable (RFC 6838, section 4.2).
        mediaType = row.text().flatMap { text in
            text.utf8.count <= 255 && text.utf8.allSatisfy { 0x21...0x7E ~= $0 } ? text : nil
        }
        width = row.optionalInteger().map(Int.init)
        height = row.optionalInteger().map(Int.init)
        storedAt = try row.requireDate()
        usedAt = try row.requireDate()
    }
}

package typealias IndexedObject = (row: Int64, digest: Digest)

/// The media type and dimensions of an object.
public struct ObjectAttributes: Sendable, Equatable {
    /// The media type; nil if the object is not a known image.
    public var mediaType: String?
    /// The width in pixels; nil if unknown.
    public var width: Int?
    /// The height in pixels; nil if unknown.
    public var height: Int?

    /// Creates attributes. Omitted ones are unknown.
    public init(mediaType: String? = nil, width: Int? = nil, height: Int? = nil) {
        (self.mediaType, self.width, self.height) = (mediaType, width, height)
    }
}
