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
    /// Whether its bytes were accepted although they are no known image.
    package let isAnyContent: Bool
    /// Whether it was stored although its origin forbade it.
    package let isUnstorable: Bool
    /// The place of the finding that it was dropped for.
    package let finding: Int

    static let columns = "r.key, r.url, o.digest, o.media_type, r.cache_control"

    init(_ row: PreparedStatement, finding: Int) throws {
        key = try row.requireText(0)
        url = row.text(1) ?? key
        digest = row.digest(2)
        isAnyContent = digest != nil && row.isNull(3)
        isUnstorable = CacheControl(row.text(4)).isNoStore
        self.finding = finding
    }
}
