import Foundation
import GRDB

/// A resource that a repair took out of the index, and what is needed to fetch it again.
package struct DroppedResource: Sendable {
    /// What it was looked up by.
    package let key: String
    /// Where it was fetched from.
    package let url: String
    /// The object that it resolved to; nil where the index had none.
    package let digest: Digest?
    /// Whether its bytes were accepted although they are no known image.
    package let isAnyContent: Bool
    /// Whether it was stored although its origin forbade it.
    package let isUnstorable: Bool
    /// The place of the finding that it was dropped for.
    package let finding: Int

    static let columns = "r.key, r.url, o.digest, o.media_type, r.cache_control"

    init(_ row: Row, finding: Int) {
        key = row[0]
        url = row[1] ?? row[0]
        digest = (row[2] as Data?).flatMap { Digest(bytes: $0) }
        isAnyContent = digest != nil && row[3] == nil
        isUnstorable = CacheControl(row[4]).isNoStore
        self.finding = finding
    }
}
