import Foundation
import GRDB

/// The resources that no eviction takes, by key; they need not be cached. For the length of one
/// transaction.
struct PinTable {
    private let db: Database

    init(_ db: Database) { self.db = db }

    /// Pins a resource; returns whether it was not before.
    func add(_ key: String) throws -> Bool {
        try PreparedStatement(db, "INSERT OR IGNORE INTO pins (key, pinned_at) VALUES (?, ?)")
            .run(key, Date().timeIntervalSince1970)
        return db.changesCount > 0
    }

    /// Whether there is a resource of that key.
    func isCached(_ key: String) throws -> Bool {
        try PreparedStatement(db, "SELECT 1 FROM resources WHERE key = ?").firstInteger(key) != nil
    }

    /// Returns whether it was pinned.
    func remove(_ key: String) throws -> Bool {
        try PreparedStatement(db, "DELETE FROM pins WHERE key = ?").run(key)
        return db.changesCount > 0
    }
}
