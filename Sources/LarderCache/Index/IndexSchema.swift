import GRDB
import LarderCore

/// The migrations that create the index's tables. Released migrations never change.
enum IndexSchema {
    /// Compares the schema with the known ones, because a table of an untrusted file may be an
    /// endless view. Returns the number of applied migrations, or nil if there are no tables.
    static func applied(to db: Database, at path: String) throws -> Int? {
        let made = try statements(of: db)
        if made.isEmpty { return nil }
        // The tables may be another program's, or damaged: a flipped bit can rename a column.
        let foreign = DatabaseError.corruption("the tables do not match larder's schema")
        let bookkeeping = made.filter { $0[2].elementsEqual("grdb_migrations".utf8) }
        guard digest(of: bookkeeping) == known(0) else { throw foreign }
        let names = try db.prepared("SELECT identifier FROM grdb_migrations LIMIT 1000")
            .rows { try? $0.requireText() }
        let applied = Set(names.compactMap(\.self))
        if names.contains(nil) { throw foreign }
        let all = migrations.map(\.key)
        guard applied.isSubset(of: all) else {
            throw CacheError(
                .index, subject: path,
                message: "was written by a newer version of larder; use that version")
        }
        guard applied == Set(all.prefix(applied.count)), digest(of: made) == known(applied.count)
        else { throw foreign }
        return applied.isEmpty ? nil : applied.count
    }

    /// The schema's digest for each number of applied migrations. Computing it would take too long.
    private static let digests: KeyValuePairs = [
        0: "e30fa713fd8f8a9b90b2c2587a67edbebbed5a082c6d2e335a7b4edc220b8d3c",
        5: "7c9975d1d122388b756dadfcdb5906f7dccb5557d2336b60fb2f3d7367a4556a",
        6: "7c9975d1d122388b756dadfcdb5906f7dccb5557d2336b60fb2f3d7367a4556a",
        7: "d57922c14815279c85ca3a1e04e64304da798681b666193e9d14ad296eb49889",
    ]

    static func known(_ applied: Int) -> String? { digests.first { $0.key == applied }?.value }

    static func digest(of db: Database) throws -> String { digest(of: try statements(of: db)) }

    /// Includes the length of each value, so that different statements have different digests.
    private static func digest(of statements: [[[UInt8]]]) -> String {
        var running = RunningDigest()
        for value in statements.joined() {
            withUnsafeBytes(of: UInt64(value.count).littleEndian) { running.update($0) }
            running.update(value)
        }
        return running.digest.hex
    }

    /// Returns up to 64 statements of the schema. Larder's schema has fewer.
    private static func statements(of db: Database) throws -> [[[UInt8]]] {
        try db.prepared(
            """
            SELECT type, name, tbl_name, sql FROM sqlite_master
            WHERE NOT (type = 'table' AND name IN ('sqlite_stat1', 'sqlite_stat4'))
            ORDER BY type, name LIMIT 64
            """
        ).rows { row in (0..<4).map { _ in row.value().withBytes { Array($0) } } }
    }

    /// Conditions that select invalid rows, which SQLite's check misses on read-only connections.
    static let brokenRows = [
        "objects": """
        typeof(digest) IS NOT 'blob' OR length(digest) IS NOT 32 OR typeof(size) IS NOT 'integer'
        OR size NOT BETWEEN 0 AND \(StoredObject.largest) OR \(isNoTime("stored_at"))
        OR \(isNoTime("used_at"))
        """,
        "resources": """
        typeof(key) IS NOT 'text' OR variant IS NOT NULL AND length(variant) IS NOT 32
        OR \(isNoTime("received_at")) OR \(isNoTime("fresh_until"))
        """,
        "damaged": """
        typeof(key) IS NOT 'text' OR digest IS NOT NULL AND length(digest) IS NOT 32
        OR \(isNoTime("found_at"))
        """,
    ]

    private static func isNoTime(_ column: String) -> String {
        "typeof(\(column)) NOT IN ('real', 'integer') OR abs(\(column)) > \(RowReader.longestTime)"
    }

    /// Migrates the index in one transaction. GRDB's migrator would use seven.
    static func migrate(_ db: Database) throws {
        let count = try applied(to: db, at: CacheLayout.index) ?? 0
        guard count < migrations.count else { return }
        try db.inTransaction(.immediate) {
            try db.execute(
                sql: """
                    CREATE TABLE IF NOT EXISTS
                        grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)
                    """)
            let insert = try db.prepared("INSERT INTO grdb_migrations VALUES (?)")
            for (name, statements) in migrations.dropFirst(count) {
                if let statements { try db.execute(sql: statements) } else { try URLKeys.renew(db) }
                try insert.run(name)
            }
            return .commit
        }
    }

    /// The SQL statements of each migration. If nil, the migration calls ``URLKeys/renew(_:)``.
    static let migrations: KeyValuePairs<String, String?> = [
        "1: objects and resources": """
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
        ALTER TABLE objects ADD COLUMN used_at REAL NOT NULL DEFAULT 0;
        CREATE TABLE pins (
            key TEXT PRIMARY KEY NOT NULL, -- of a resource, cached or not
            pinned_at REAL NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE TABLE spellings (
            text TEXT PRIMARY KEY NOT NULL, -- a manifest's URL that is not the key
            resource INTEGER NOT NULL REFERENCES resources (id) ON DELETE CASCADE
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX spellings_by_resource ON spellings (resource);
        """,
        // Version 0.2.0, the first release, applied the first five migrations.
        "2: variants, redirects and failures": "",
        "3: use and pins": "",
        "4: keys apart from URLs": "",
        "5: spellings": "",
        "6: one key for equal URLs": nil,
        "7: damaged resources": """
        CREATE TABLE damaged (
            key TEXT PRIMARY KEY NOT NULL, -- of a resource whose object was set aside
            url TEXT,                      -- NULL where it is the key
            digest BLOB CHECK (length(digest) = 32), -- of the object, if there was one
            is_any_content INTEGER NOT NULL,
            is_unstorable INTEGER NOT NULL,
            found_at REAL NOT NULL
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX damaged_by_digest ON damaged (digest);
        """,
    ]
}
