import Foundation

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
