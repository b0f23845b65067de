import GRDB

/// The index's tables, as a list of migrations: a released one is never changed.
enum IndexSchema {
    /// Whether the tables are those that the migrations which have been applied make. A single flipped bit
    /// may rename a column, which SQLite's own checks do not mind.
    static func isIntact(_ db: Database) throws -> Bool {
        let applied = try migrator.appliedIdentifiers(db)
        guard let last = migrator.migrations.last(where: applied.contains) else { return false }
        let fresh = try DatabaseQueue()
        try migrator.migrate(fresh, upTo: last)
        return try fresh.read(statements) == statements(of: db)
    }

    /// The statements that made everything in it, each with what SQLite knows it by.
    private static func statements(of db: Database) throws -> [Row] {
        try Row.fetchAll(
            db,
            sql: """
                SELECT type, name, tbl_name, sql FROM sqlite_master
                WHERE name NOT LIKE 'sqlite_stat%' ORDER BY type, name
                """)
    }

    /// The rows that break a rule of their tables, as a condition for each table. SQLite's own check passes
    /// over such rules on a connection that only reads.
    static let brokenRows = [
        "objects": "length(digest) IS NOT 32 OR size < 0",
        "resources": "variant IS NOT NULL AND length(variant) IS NOT 32",
    ]

    static var migrator: DatabaseMigrator {
        var migrator = DatabaseMigrator()
        migrator.registerMigration("1: objects and resources") { db in
            try db.execute(
                sql: """
                    CREATE TABLE objects (
                        id INTEGER PRIMARY KEY,
                        digest BLOB NOT NULL UNIQUE CHECK (length(digest) = 32),
                        size INTEGER NOT NULL CHECK (size >= 0),
                        media_type TEXT,
                        width INTEGER,
                        height INTEGER,
                        stored_at REAL NOT NULL
                    ) STRICT;
                    CREATE TABLE resources (
                        id INTEGER PRIMARY KEY,
                        key TEXT NOT NULL UNIQUE,
                        url TEXT,                      -- NULL where it is the key
                        object INTEGER NOT NULL REFERENCES objects (id) ON DELETE CASCADE,
                        etag TEXT,
                        last_modified TEXT,
                        date TEXT,
                        age REAL,
                        cache_control TEXT,
                        expires TEXT,
                        received_at REAL NOT NULL,
                        fresh_until REAL NOT NULL
                    ) STRICT;
                    CREATE INDEX resources_by_object ON resources (object);
                    """)
        }
        migrator.registerMigration("2: variants, redirects and failures") { db in
            try db.execute(
                sql: """
                    ALTER TABLE resources ADD COLUMN vary TEXT;
                    ALTER TABLE resources ADD COLUMN variant BLOB CHECK (length(variant) = 32);
                    -- where redirects led; NULL where they led nowhere
                    ALTER TABLE resources ADD COLUMN response_url TEXT;
                    CREATE TABLE failures (
                        key TEXT PRIMARY KEY NOT NULL,
                        url TEXT,                      -- NULL where it is the key
                        code TEXT NOT NULL,
                        status INTEGER,                -- of HTTP, where that is the reason
                        failed_at REAL NOT NULL,
                        count INTEGER NOT NULL         -- runs in a row
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("3: use and pins") { db in
            try db.execute(
                sql: """
                    ALTER TABLE objects ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
                    UPDATE objects SET used_at = max(stored_at, coalesce(
                        (SELECT max(received_at) FROM resources r WHERE r.object = objects.id), 0));
                    CREATE TABLE pins (
                        key TEXT PRIMARY KEY NOT NULL, -- of a resource, cached or not
                        pinned_at REAL NOT NULL
                    ) STRICT, WITHOUT ROWID;
                    """)
        }
        migrator.registerMigration("4: keys apart from URLs") { db in
            // What a manifest's `key` had named is told by its URL, or by what no URL begins with. Where two
            // of them meet, one is fetched again. A URL's row that looks like a manifest's own icon under
            // a key may be anybody's bytes. A pin that may mean either keeps both.
            let isNoURL = "key NOT GLOB 'http://*' AND key NOT GLOB 'https://*'"
            let isOwnKey = "url IS NOT NULL OR \(isNoURL) AND key NOT GLOB 'ni:*'"
            try db.execute(
                sql: """
                    DELETE FROM resources WHERE url IS NULL AND date IS NULL AND etag IS NULL
                        AND last_modified IS NULL AND response_url IS NULL
                        AND cache_control = 'max-age=31536000, immutable' AND key NOT GLOB 'ni:*'
                        AND NOT (\(isNoURL));
                    UPDATE OR REPLACE resources SET key = 'key:' || key WHERE \(isOwnKey);
                    UPDATE OR REPLACE failures SET key = 'key:' || key WHERE \(isOwnKey);
                    UPDATE OR REPLACE pins SET key = 'key:' || key
                        WHERE \(isNoURL) AND key NOT GLOB 'ni:*';
                    INSERT OR IGNORE INTO pins SELECT 'key:' || key, pinned_at FROM pins
                        WHERE 'key:' || key IN (SELECT key FROM resources);
                    """)
        }
        return migrator
    }
}
