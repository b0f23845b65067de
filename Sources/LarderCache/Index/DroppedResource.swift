import Foundation
import GRDB
import LarderCore

/// A resource that a repair or rebuild removed from the index, with the data to download the
/// resource again. Kept in the table `damaged` until an object is stored for its key.
package struct DroppedResource: Sendable {
    package let key: String
    package let url: String
    package let digest: Digest?
    /// Whether the object was accepted although it is not a known image.
    package let isAnyContent: Bool
    /// Whether the object was stored although the origin forbids storing.
    package let isUnstorable: Bool
    /// The index of the object's finding in the report.
    package let finding: Int

    static let columns =
        "r.key, r.url, o.digest, o.digest IS NOT NULL AND o.media_type IS NULL, r.cache_control"
    static let keptColumns =
        "d.key, d.url, d.digest, d.is_any_content, iif(d.is_unstorable, 'no-store', NULL)"

    init(_ row: inout RowReader, finding: Int) throws {
        key = try row.requireText()
        url = row.text() ?? key
        digest = row.digest()
        isAnyContent = row.bool()
        isUnstorable = CacheControl(row.text()).isNoStore
        self.finding = finding
    }

    func keep(in db: Database) throws {
        try db.prepared("INSERT OR REPLACE INTO damaged VALUES (?, ?, ?, ?, ?, ?)").run(
            key, url == key ? nil : url, digest, isAnyContent ? 1 : 0, isUnstorable ? 1 : 0,
            Date().timeIntervalSince1970)
    }
}

extension CacheIndex {
    func damaged(_ digest: Digest?, finding: Int) throws(CacheError) -> [DroppedResource] {
        guard hasDamaged else { return [] }
        return try lookUp { db in
            try db.prepared(
                """
                SELECT \(DroppedResource.keptColumns) FROM damaged d WHERE d.digest IS ?
                ORDER BY d.key
                """
            ).rows(digest) { try DroppedResource(&$0, finding: finding) }
        }
    }

    /// Returns the distinct digests of damaged resources; nil if a resource has no digest.
    func damagedDigests() throws(CacheError) -> [Digest?] {
        guard hasDamaged else { return [] }
        return try lookUp { db in
            try db.prepared("SELECT DISTINCT digest FROM damaged ORDER BY digest")
                .rows { try $0.optional { try $0.requireDigest() } }
        }
    }
}
