import Foundation
import GRDB
import LarderCache

/// The temporary database behind a plan.
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
            icon INTEGER NOT NULL,     -- its place among its entry's; a row is one icon
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
            credentials BLOB,          -- sealed; NULL where there are none
            origin INTEGER NOT NULL,
            priority INTEGER NOT NULL,
            is_strict INTEGER NOT NULL,
            status INTEGER NOT NULL DEFAULT 0,
            is_use_due INTEGER NOT NULL DEFAULT 0  -- cached, and used for the first time in a while
        );
        CREATE TABLE main.failures (   -- how fetches of the plan failed before
            fetch INTEGER PRIMARY KEY,
            code TEXT NOT NULL,
            status INTEGER,
            failed_at REAL NOT NULL,
            count INTEGER NOT NULL,
            is_final INTEGER NOT NULL  -- not to be asked for again so soon
        );
        CREATE TABLE main.inline (     -- bytes that the manifest itself has for a fetch
            fetch INTEGER PRIMARY KEY,
            bytes BLOB NOT NULL
        );
        CREATE TABLE main.locked (     -- the bytes that entries came to, where a lock is wanted
            entry INTEGER PRIMARY KEY,
            digest BLOB NOT NULL,
            size INTEGER NOT NULL,
            media_type TEXT
        );
        CREATE TABLE main.pending (
            rank INTEGER PRIMARY KEY,  -- by priority, then manifest order
            fetch INTEGER NOT NULL UNIQUE,
            origin INTEGER NOT NULL
        );
        CREATE INDEX main.pending_by_origin ON pending (origin, rank);
        """
}
