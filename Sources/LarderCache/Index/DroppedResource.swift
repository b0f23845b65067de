import Foundation
import GRDB
import LarderCore

/// A resource that a repair or rebuild removed, with the data to download it again. Kept in the
/// table `damaged` until an object is stored for its key.
package struct DroppedResource: Sendable {
    package let key: String
    package let url: String
    package let digest: Digest?
    package let isAnyContent: Bool
    package let isUnstorable: Bool
    package let finding: Int

    init(_ row: inout RowReader, finding: Int) throws {
        key = try row.requireText()
        url = row.text() ?? key
        digest = row.digest()
        isAnyContent = row.bool()
        isUnstorable = CacheControl(row.text()).isNoStore
        self.finding = finding
    }

    /// Records the resources that `condition` selects from `resources r` and `objects o`.
    static func keep<each Value: SQLiteValue>(
        in db: Database, where condition: String, _ values: repeat each Value
    ) throws {
        let insert = try db.prepared("INSERT OR REPLACE INTO damaged VALUES (?, ?, ?, ?, ?, ?)")
        try db.prepared(
            """
            SELECT r.key, r.url, o.digest, o.digest IS NOT NULL AND o.media_type IS NULL,
                r.cache_control
            FROM resources r LEFT JOIN objects o ON o.id = r.object WHERE \(condition)
            """
        ).forEach(repeat each values) { row in
            let kept = try DroppedResource(&row, finding: 0)
            try insert.run(
                kept.key, kept.url == kept.key ? nil : kept.url, kept.digest,
                kept.isAnyContent ? 1 : 0, kept.isUnstorable ? 1 : 0, Date().timeIntervalSince1970)
        }
    }
}

extension CacheIndex {
    func damaged(_ digest: Digest?, finding: Int) throws(CacheError) -> [DroppedResource] {
        guard isMigrated else { return [] }
        return try lookUp { db in
            try db.prepared(
                """
                SELECT key, url, digest, is_any_content, iif(is_unstorable, 'no-store', NULL)
                FROM damaged WHERE digest IS ? ORDER BY key
                """
            ).rows(digest) { try DroppedResource(&$0, finding: finding) }
        }
    }

    func damagedDigests() throws(CacheError) -> [Digest?] {
        guard isMigrated else { return [] }
        return try lookUp { db in
            try db.prepared("SELECT DISTINCT digest FROM damaged ORDER BY digest")
                .rows { try $0.optional { try $0.requireDigest() } }
        }
    }
}
