import Foundation
import GRDB
import LarderCache

/// The temporary database behind a plan, and its comparison with a cache's index.
enum PlanSchema {
    static func open(at path: String?, cache: Cache?) throws -> DatabaseQueue {
        var configuration = Configuration()
        configuration.prepareDatabase { db in
            // Nobody else reads it and nobody wants it after a crash.
            try db.execute(
                sql: """
                    PRAGMA main.journal_mode = OFF;
                    PRAGMA main.synchronous = OFF;
                    PRAGMA main.locking_mode = EXCLUSIVE;
                    """)
        }
        let queue = try DatabaseQueue(path: path ?? "", configuration: configuration)
        try queue.writeWithoutTransaction { db in
            if let index = cache?.indexURI {
                try db.execute(sql: "ATTACH DATABASE ? AS cache", arguments: [index])
            }
            try db.execute(sql: tables)
        }
        return queue
    }

    private static let tables = """
        CREATE TABLE main.entries (
            id INTEGER PRIMARY KEY,
            manifest INTEGER NOT NULL,
            position INTEGER NOT NULL,
            name TEXT,
            fetch INTEGER,             -- NULL where there is nothing to fetch, and then …
            digest BLOB,
            size INTEGER,
            is_duplicate INTEGER NOT NULL,
            code TEXT,                 -- … the failure's name, NULL for an entry without an icon
            message TEXT
        );
        CREATE INDEX main.followers ON entries (fetch) WHERE is_duplicate = 1;
        CREATE TABLE main.fetches (
            id INTEGER PRIMARY KEY,    -- of the first entry that names the resource
            key TEXT NOT NULL UNIQUE,
            url TEXT,                  -- NULL where it is the key
            origin INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            is_strict INTEGER NOT NULL,
            status INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE main.pending (
            rank INTEGER PRIMARY KEY,  -- by priority, then manifest order
            fetch INTEGER NOT NULL UNIQUE,
            origin INTEGER NOT NULL
        );
        CREATE INDEX main.pending_by_origin ON pending (origin, rank);
        """

    /// Decides the status of every URL, and queues those that are not cached and fresh.
    static func classify(
        _ db: Database, cache: Cache?, acceptsAnyContent: Bool, summary: inout PlanSummary
    ) throws {
        if let cache, cache.indexURI != nil {
            let update = try db.makeStatement(sql: "UPDATE fetches SET status = ? WHERE id = ?")
            let now = Date().timeIntervalSince1970
            let known = try Row.fetchCursor(
                db,
                sql: """
                    SELECT f.id, f.is_strict, r.fresh_until > ?, o.digest, o.size,
                        o.media_type IS NOT NULL
                    FROM main.fetches f JOIN cache.resources r ON r.key = f.key
                        JOIN cache.objects o ON o.id = r.object
                    """, arguments: [now])
            while let row = try known.next() {
                guard let digest = Digest(bytes: row[3] as Data) else { continue }
                let size: Int64 = row[4]
                // What was accepted as any content is no icon for a run that wants icons.
                guard acceptsAnyContent || row[5] else { continue }
                if row[1], try !meetsExpectations(of: row[0], digest, size, db) { continue }
                // Deleting objects by hand costs downloads, never correctness.
                guard try cache.isPresent(digest, size: size) else { continue }
                let status: PlanStatus = row[2] ? .cached : .stale
                try update.execute(arguments: [status.rawValue, row[0] as Int64])
                if status == .cached { summary.cached += 1 } else { summary.stale += 1 }
            }
        }
        summary.missing = summary.urls - summary.cached - summary.stale
        try db.execute(
            sql: """
                INSERT INTO pending (fetch, origin)
                SELECT id, origin FROM fetches WHERE status <> ? ORDER BY priority DESC, id
                """, arguments: [PlanStatus.cached.rawValue])
    }

    private static func meetsExpectations(
        of fetch: Int64, _ digest: Digest, _ size: Int64, _ db: Database
    ) throws -> Bool {
        let misses = try db.cachedStatement(
            sql: """
                SELECT EXISTS (
                    SELECT 1 FROM entries
                    WHERE (id = ?1 OR (fetch = ?1 AND is_duplicate = 1))
                        AND ((digest IS NOT NULL AND digest <> ?2)
                            OR (size IS NOT NULL AND size <> ?3)))
                """)
        return try Bool.fetchOne(misses, arguments: [fetch, Data(digest.bytes), size]) == false
    }
}
