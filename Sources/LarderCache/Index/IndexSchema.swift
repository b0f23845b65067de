import GRDB

/// The index's tables, as a list of migrations: a released one is never changed.
enum IndexSchema {
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
        return migrator
    }
}
