import Foundation
import GRDB

/// Bytes in the cache, named by their digest, and what is known of them.
public struct StoredObject: Sendable {
    /// The SHA-256 digest of the bytes.
    public let digest: Digest
    /// How many bytes there are.
    public let size: Int64
    /// The media type by content, such as `image/png`; nil where it is no known image.
    public let mediaType: String?
    /// The width in pixels, where the format has one.
    public let width: Int?
    /// The height in pixels, where the format has one.
    public let height: Int?
    /// When it was stored.
    public let storedAt: Date
    /// When one of its resources was last used, within ``ObjectUse/precision``.
    public let usedAt: Date

    /// The path of the object's file beneath the cache root.
    public var path: String { CacheLayout.path(digest) }

    /// The columns that ``init(row:startingAt:)`` reads, of `objects o`.
    package static let columns =
        "o.digest, o.size, o.media_type, o.width, o.height, o.stored_at, o.used_at"

    /// Nil where the columns are NULL.
    package init?(_ row: PreparedStatement, startingAt first: CInt) {
        guard let digest = row.digest(first) else { return nil }
        self.digest = digest
        size = row.integer(first + 1)
        mediaType = row.text(first + 2)
        width = row.isNull(first + 3) ? nil : Int(row.integer(first + 3))
        height = row.isNull(first + 4) ? nil : Int(row.integer(first + 4))
        storedAt = Date(timeIntervalSince1970: row.double(first + 5))
        usedAt = Date(timeIntervalSince1970: row.double(first + 6))
    }

    package init(row: Row, startingAt first: Int = 0) {
        // The schema's CHECK keeps every digest at 32 bytes.
        digest = Digest(blob: row[first])
        size = row[first + 1]
        mediaType = row[first + 2]
        width = row[first + 3]
        height = row[first + 4]
        storedAt = Date(timeIntervalSince1970: row[first + 5])
        usedAt = Date(timeIntervalSince1970: row[first + 6])
    }
}
