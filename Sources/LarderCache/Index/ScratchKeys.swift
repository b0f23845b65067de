import GRDB

/// A set of keys in a database of its own: a million take the same memory as ten. It stores
/// their digests, since a key may have kilobytes.
package struct ScratchKeys {
    private let database: DatabaseQueue

    /// An empty one; where it is on the disk, if it is, is left to SQLite.
    package init() throws(CacheError) {
        do {
            database = try ScratchDatabase.open(at: nil, joining: nil)
            try database.writeWithoutTransaction { db in
                try db.execute(
                    sql: "CREATE TABLE keys (key BLOB PRIMARY KEY NOT NULL) WITHOUT ROWID")
            }
        } catch {
            throw CacheError(index: Self.subject, error)
        }
    }

    /// Adds some.
    package func insert(_ keys: [String]) throws(CacheError) {
        guard !keys.isEmpty else { return }
        do {
            try database.writeWithoutTransaction { db in
                try db.inTransaction {
                    let insert = try PreparedStatement(db, "INSERT OR IGNORE INTO keys VALUES (?)")
                    for key in keys { try insert.run(Self.digest(of: key)) }
                    return .commit
                }
            }
        } catch {
            throw CacheError(index: Self.subject, error)
        }
    }

    /// Whether it has one.
    package func contains(_ key: String) throws(CacheError) -> Bool {
        do {
            return try database.unsafeRead { db in
                try PreparedStatement(db, "SELECT 1 FROM keys WHERE key = ?")
                    .firstInteger(Self.digest(of: key)) != nil
            }
        } catch {
            throw CacheError(index: Self.subject, error)
        }
    }

    private static func digest(of key: String) -> Digest { Digest(of: Array(key.utf8)) }

    private static let subject = "a temporary database"
}
