import Foundation
import GRDB
import LarderCore

/// A resource that a repair or a rebuild took out of the index, and what is needed to fetch it
/// again. The index keeps it in the table `damaged` until something is stored for its key.
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

    /// The columns of a row of `resources r` and of its object.
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

    /// The columns of a row of `damaged d`.
    static let keptColumns = "d.key, d.url, d.digest, d.is_any_content, d.is_unstorable"

    init(kept row: PreparedStatement, finding: Int) throws {
        key = try row.requireText(0)
        url = row.text(1) ?? key
        digest = row.digest(2)
        isAnyContent = row.bool(3)
        isUnstorable = row.bool(4)
        self.finding = finding
    }

    /// Keeps it in the index. To be called in the transaction that deletes its rows, so that a
    /// repair that is interrupted is not forgotten.
    func keep(in db: Database) throws {
        try PreparedStatement(db, "INSERT OR REPLACE INTO damaged VALUES (?, ?, ?, ?, ?, ?)").run(
            key, url == key ? nil : url, digest, isAnyContent ? 1 : 0, isUnstorable ? 1 : 0,
            Date().timeIntervalSince1970)
    }
}

extension CacheIndex {
    /// The damaged resources of an object, or those without one if `digest` is nil.
    func damaged(
        _ digest: Digest?, finding: Int
    ) throws(CacheError) -> [DroppedResource] {
        guard hasDamaged else { return [] }
        return try lookUp { db in
            try PreparedStatement(
                db,
                """
                SELECT \(DroppedResource.keptColumns) FROM damaged d WHERE d.digest IS ?
                ORDER BY d.key
                """
            ).rows(digest) { try DroppedResource(kept: $0, finding: finding) }
        }
    }

    /// The digests of the objects of damaged resources, each once; nil stands for no object.
    func damagedDigests() throws(CacheError) -> [Digest?] {
        guard hasDamaged else { return [] }
        return try lookUp { db in
            try PreparedStatement(db, "SELECT DISTINCT digest FROM damaged ORDER BY digest")
                .rows { $0.isNull(0) ? nil : try $0.requireDigest(0) }
        }
    }
}
