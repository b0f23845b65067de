import Foundation
import GRDB
import LarderCore

/// The objects to remove, in order, stored in a temporary database to save memory.
final class EvictionPlan {
    typealias Reason = EvictionReport.Reason
    typealias Hold = EvictionReport.Hold
    typealias Victim = EvictionReport.Victim

    private let policy: EvictionPolicy
    private let directory: CacheDirectory
    private let database: DatabaseQueue

    init(
        _ policy: EvictionPolicy, index: CacheIndex, at path: String?, in directory: CacheDirectory
    ) throws {
        (self.policy, self.directory) = (policy, directory)
        database = try DatabaseFile.openScratch(at: path, joining: index)
        try database.writeWithoutTransaction { db in
            try db.execute(sql: Self.tables)
            let hasFormerKeys = try index.listFormerKeys(in: db)
            for (table, keys) in [("kept_keys", policy.keep), ("only_keys", policy.only)] {
                guard let keys else { continue }
                try db.inTransaction {
                    let insert = try db.prepared("INSERT OR IGNORE INTO \(table) VALUES (?)")
                    try keys { try insert.run($0) }
                    return .commit
                }
                guard hasFormerKeys else { continue }
                try db.execute(
                    sql: """
                        INSERT OR IGNORE INTO \(table)
                        SELECT f.former FROM \(table) k JOIN former_keys f ON f.key = k.key
                        """)
            }
        }
    }

    private static let tables = """
        CREATE TABLE main.kept_keys (key TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE main.only_keys (key TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE main.held (object INTEGER PRIMARY KEY, hold TEXT NOT NULL);
        CREATE TABLE main.wanted (object INTEGER PRIMARY KEY);  -- by EvictionPolicy.only
        CREATE TABLE main.victims (
            rank INTEGER PRIMARY KEY, object INTEGER NOT NULL, digest BLOB NOT NULL,
            size INTEGER NOT NULL, used_at REAL NOT NULL, room INTEGER NOT NULL,
            reason TEXT NOT NULL, age REAL NOT NULL
        );
        """

    func decide(
        at instant: Date, runStart: Date, free: Int64, into report: inout EvictionReport
    ) throws -> ObjectTally {
        try database.writeWithoutTransaction { db in
            // Reading all rows fills the page cache.
            defer { db.releaseMemory() }
            var (all, held) = (ObjectTally(), [Hold: ObjectTally]())
            let now = instant.timeIntervalSince1970
            try db.inTransaction(.deferred) {
                try db.execute(sql: "DELETE FROM held; DELETE FROM wanted; DELETE FROM victims")
                try hold(db)
                all = try ObjectTally(db, "cache.objects")
                var excess = EvictionExcess(policy: policy, left: all, free: free)
                // The excess if no object were held, which determines the held objects to report.
                var unheldExcess = excess
                // The clock of a run in progress may be ahead.
                let runEnd = runStart < instant ? .infinity : now + Freshness.clockSkew
                let insert = try db.prepared(
                    """
                    INSERT INTO victims (object, digest, size, used_at, room, reason, age)
                    VALUES (?, ?, ?, ?, ?, ?, ?)
                    """)
                let objects = try objects(db, at: now)
                defer { objects.reset() }
                while var row = try objects.next() {
                    if policy.isCancelled() { throw CancellationError() }
                    let (id, digest) = (row.integer(), try row.requireDigest())
                    let size = try row.requireInteger(in: 0...StoredObject.largest)
                    let usedAt = try row.requireTime()
                    _ = try row.requireTime()
                    let since = try row.requireTime()
                    let hold = row.text().flatMap(Hold.init)
                    let mandate = row.text().flatMap(Reason.init)
                    // All other rows are read too, to find damage.
                    guard mandate != nil || excess.reason != nil else { continue }
                    let room = try room(of: digest)
                    // An object that frees no space does not help to reach the minimum free space.
                    func useful(_ reason: Reason?) -> Reason? {
                        reason == .free && room == 0 ? nil : reason
                    }
                    let isExcess = (mandate ?? useful(unheldExcess.reason)) != nil
                    if isExcess { unheldExcess.take(size, freeing: room) }
                    let isInRun = usedAt >= runStart.timeIntervalSince1970 && usedAt <= runEnd
                    if let hold = hold ?? (isInRun ? Hold.run : nil) {
                        guard isExcess else { continue }
                        held[hold, default: .init()].add(size)
                    } else if let reason = mandate ?? useful(excess.reason) {
                        // Times before ``ObjectUse/earliest`` are from an unset clock.
                        let age = since >= ObjectUse.earliest ? max(0, now - since) : 0
                        try insert.run(id, digest, size, usedAt, room, reason.rawValue, age)
                        excess.take(size, freeing: room)
                    }
                }
                (report.left, report.held, report.missed) = (excess.left, held, excess.missed)
                return .commit
            }
            return all
        }
    }

    func victims(after rank: Int64, limit: Int) throws -> [Victim] {
        try database.unsafeRead { db in
            try db.prepared(
                """
                SELECT reason, digest, size, age, rank, object, used_at, room
                FROM victims WHERE rank > ? ORDER BY rank LIMIT ?
                """
            ).rows(rank, limit) { row -> Victim? in
                guard let reason = row.text().flatMap(Reason.init) else { return nil }
                return Victim(
                    digest: try row.requireDigest(), size: row.integer(), reason: reason,
                    age: row.double(), rank: row.integer(), object: row.integer(),
                    usedAt: row.double(), room: row.integer())
            }.compactMap(\.self)
        }
    }

    func named(_ victim: Victim) throws -> Victim {
        var named = victim
        try database.unsafeRead { db in
            try db.prepared(
                """
                SELECT key, coalesce(url, key),
                    (SELECT count(id) FROM cache.resources WHERE object = ?1)
                FROM cache.resources WHERE object = ?1 ORDER BY id LIMIT 1
                """
            ).forEach(victim.object) { row in
                named.first = .init(key: try row.requireText(), url: try row.requireText())
                named.resources = Int(row.integer())
            }
        }
        return named
    }

    func damagedKeys(after key: String, at instant: Date, limit: Int) throws -> [String] {
        try database.unsafeRead { db in
            try db.prepared(
                """
                SELECT d.key FROM cache.damaged d
                WHERE d.key > ?1
                    AND (d.found_at <= ?2 OR ?3 AND NOT EXISTS
                        (SELECT 1 FROM only_keys k WHERE k.key = d.key))
                    AND NOT EXISTS (SELECT 1 FROM kept_keys k WHERE k.key = d.key)
                    AND NOT EXISTS (SELECT 1 FROM cache.pins p WHERE p.key = d.key)
                ORDER BY d.key LIMIT ?4
                """
            ).rows(
                key, policy.maximumAge.map { instant.timeIntervalSince1970 - $0 },
                policy.only == nil ? 0 : 1, limit
            ) { try $0.requireText() }
        }
    }

    /// Detaches the index, whose own connections must close last to checkpoint its log.
    func close() throws { try database.close() }

    private func hold(_ db: Database) throws {
        // SQLite does not reorder a CROSS JOIN, so it looks up each key among the resources. If an
        // object is both in a manifest and pinned, the manifest is reported.
        for (table, hold) in [("main.kept_keys", Hold.manifest), ("cache.pins", .pin)] {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO held
                    SELECT r.object, ? FROM \(table) k CROSS JOIN cache.resources r ON r.key = k.key
                    """, arguments: [hold.rawValue])
        }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO wanted
                SELECT r.object FROM only_keys k CROSS JOIN cache.resources r ON r.key = k.key
                """)
    }

    /// Selects the objects in the order of removal. Objects that must be removed come first, then
    /// objects larger than ``EvictionPolicy/maximumBytes``, because removing all smaller objects
    /// would not be enough. Objects without a valid time are treated as used now.
    private func objects(_ db: Database, at now: Double) throws -> PreparedStatement {
        let statement = try db.prepared(
            """
            SELECT o.id, o.digest, o.size, o.used_at, o.stored_at, o.\(policy.order.clock),
                h.hold,
                CASE WHEN ?2 AND w.object IS NULL THEN 'only'
                    WHEN ?3 - o.\(policy.order.clock) >= ?4
                        AND o.\(policy.order.clock) >= ?1 THEN 'age' END AS mandate,
                iif(o.\(policy.order.clock) < ?1, ?3, o.\(policy.order.clock)) AS since
            FROM cache.objects o LEFT JOIN main.held h ON h.object = o.id
                LEFT JOIN main.wanted w ON w.object = o.id
            ORDER BY mandate IS NULL, mandate IS NULL AND o.size <= ?5, since, o.digest
            """)
        try statement.bind(
            ObjectUse.earliest, policy.only != nil, now, policy.maximumAge, policy.maximumBytes)
        return statement
    }

    private func room(of digest: Digest) throws -> Int64 {
        guard policy.minimumFree != nil else { return 0 }
        do throws(CacheError) {
            guard let status = try directory.status(of: digest), status.isRegularFile
            else { return 0 }
            return status.freeableBytes
        } catch  where error.errno == EACCES { return 0 }
    }
}
