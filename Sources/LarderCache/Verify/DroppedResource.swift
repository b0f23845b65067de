import Foundation
import GRDB

/// A resource that a repair took out of the index, and what is needed to fetch it again.
package struct DroppedResource: Sendable {
    /// What it was looked up by.
    package let key: String
    /// Where it was fetched from.
    package let url: String
    /// The object that it resolved to; nil if the index had none.
    package let digest: Digest?
    /// Whether its bytes were accepted although they are not a known image.
    package let isAnyContent: Bool
    /// Whether it was stored although its origin forbade it.
    package let isUnstorable: Bool
    /// The place of the finding that it was dropped for.
    package let finding: Int

    static let columns = "r.key, r.url, o.digest, o.media_type, r.cache_control"

    /// The places of ``columns``.
    private enum Column {
        static let key: CInt = 0
        static let url: CInt = 1
        static let digest: CInt = 2
        static let mediaType: CInt = 3
        static let cacheControl: CInt = 4
    }

    init(_ row: PreparedStatement, finding: Int) throws {
        key = try row.requireText(Column.key)
        url = row.text(Column.url) ?? key
        digest = row.digest(Column.digest)
        isAnyContent = digest != nil && row.isNull(Column.mediaType)
        isUnstorable = CacheControl(row.text(Column.cacheControl)).isNoStore
        self.finding = finding
    }
}
