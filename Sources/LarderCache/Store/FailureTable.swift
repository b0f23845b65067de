import Foundation
import GRDB

/// The failures that the index remembers: of each resource the last, and in how many runs in a row.
/// For the length of one transaction.
struct FailureTable {
    private let db: Database
    /// Almost always: a success then has nothing to forget, and costs nothing.
    private var isEmpty: Bool
    /// How many were added, and the bytes of their keys and URLs.
    private(set) var added = (rows: 0, bytes: 0)

    init(_ db: Database) throws {
        self.db = db
        isEmpty = try PreparedStatement(db, "SELECT 1 FROM failures LIMIT 1").firstInteger() == nil
    }

    mutating func add(_ deposit: Deposit, code: String, status: Int?) throws {
        isEmpty = false
        try PreparedStatement(
            db,
            """
            INSERT INTO failures (key, url, code, status, failed_at, count)
            VALUES (?, ?, ?, ?, ?, 1)
            ON CONFLICT (key) DO UPDATE SET
                url = excluded.url, code = excluded.code, status = excluded.status,
                failed_at = excluded.failed_at, count = min(count, 1000000) + 1
            """
        ).run(
            deposit.key, deposit.url == deposit.key ? nil : deposit.url, code, status,
            deposit.receivedAt.timeIntervalSince1970)
        added.rows += 1
        added.bytes += deposit.key.utf8.count + deposit.url.utf8.count
    }

    /// Forgets the failures of a resource that was fetched.
    func remove(_ key: String) throws {
        guard !isEmpty else { return }
        try PreparedStatement(db, "DELETE FROM failures WHERE key = ?").run(key)
    }
}
