import Foundation
import GRDB

/// Index files with two resources of two objects, as earlier versions of Larder wrote them. The
/// statements never change, and do not depend on the current migrations.
enum EarlierIndex: Int, CaseIterable {
    case fifth = 5
    case sixth
    case seventh

    /// Writes the index in WAL mode, as the earlier version did.
    ///
    /// - Parameter digests: The digests of the two objects.
    func write(to path: String, digests: [Data], sizes: [Int]) throws {
        let database = try DatabasePool(path: path)
        try database.write { db in
            try db.execute(sql: tables)
            try db.execute(
                sql:
                    "INSERT INTO objects (digest, size, media_type, width, height, stored_at, used_at) VALUES (?, ?, 'image/png', 16, 16, 900, 5000), (?, ?, NULL, NULL, NULL, 3000, 5000)",
                arguments: [digests[0], sizes[0], digests[1], sizes[1]])
            try db.execute(sql: rows)
        }
        try database.close()
    }

    private var tables: String {
        switch self {
        case .fifth:
            """
            CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
            INSERT INTO grdb_migrations VALUES ('1: objects and resources'),
                ('2: variants, redirects and failures'), ('3: use and pins'),
                ('4: keys apart from URLs'), ('5: spellings');
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
            """
        case .sixth:
            Self.fifth.tables + "INSERT INTO grdb_migrations VALUES ('6: one key for equal URLs');"
        case .seventh:
            Self.sixth.tables + """
                INSERT INTO grdb_migrations VALUES ('7: damaged resources');
                CREATE TABLE damaged (
                    key TEXT PRIMARY KEY NOT NULL, -- of a resource whose object was set aside
                    url TEXT,                      -- NULL where it is the key
                    digest BLOB CHECK (length(digest) = 32), -- of the object, if there was one
                    is_any_content INTEGER NOT NULL,
                    is_unstorable INTEGER NOT NULL,
                    found_at REAL NOT NULL
                ) STRICT, WITHOUT ROWID;
                CREATE INDEX damaged_by_digest ON damaged (digest);
                """
        }
    }

    private var rows: String {
        switch self {
        case .fifth:
            """
            INSERT INTO resources (key, url, object, etag, last_modified, date, age, cache_control,
                expires, received_at, fresh_until)
            VALUES ('key:key', 'http://a.example/1', 1, '"1"', 'modified', 'date', 5, 'max-age=60',
                    'expires', 1000, 2000),
                ('http://a.example/2', NULL, 2, NULL, NULL, NULL, NULL, NULL, NULL, 1000, 1000);
            UPDATE resources SET vary = 'Accept', variant = zeroblob(32),
                response_url = 'http://b.example/1' WHERE key = 'key:key';
            INSERT INTO failures VALUES ('http://a.example/3', NULL, 'not-found', 404, 1000, 2);
            INSERT INTO pins VALUES ('key:key', 1000);
            INSERT INTO spellings VALUES ('HTTP://A.example/2', 2);
            """
        case .sixth: Self.fifth.rows
        case .seventh:
            Self.sixth.rows + """
                INSERT INTO damaged VALUES ('http://a.example/4', NULL, zeroblob(32), 0, 0, 1000);
                """
        }
    }
}
