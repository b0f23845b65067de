import Foundation
import GRDB
import LarderTestSupport
import Testing

@testable import LarderCache
@testable import LarderCore

/// Index files since version 0.2, and their migration.
@Suite struct IndexSchemaTests {
    private static let bytes = [noise(100, seed: 1), noise(200, seed: 2)]

    /// Writes a cache as the version of Larder left it, including its objects.
    private func write(_ version: EarlierIndex, at directory: String) throws {
        let digests = try Self.bytes.map { try Digest.reference(of: $0) }
        for (digest, bytes) in zip(digests, Self.bytes) {
            let path = "\(directory)/\(CacheLayout.path(digest))"
            try Tree.put(bytes, at: path)
            #expect(chmod(path, 0o444) == 0)
        }
        try version.write(
            to: "\(directory)/index.sqlite", digests: digests.map(\.blob),
            sizes: Self.bytes.map(\.count))
    }

    @Test(arguments: EarlierIndex.allCases)
    func migrationKeepsTheRowsOfEveryVersion(_ version: EarlierIndex) throws {
        for open in Cache.openings {
            try withTemporaryDirectory { directory in
                try write(version, at: directory.path)
                let cache = try open(directory.path)
                #expect(cache.recovery == nil)
                let resource = try #require(try cache.resource("key:key"))
                #expect(resource.url == "http://a.example/1")
                #expect(try cache.bytes(of: resource.object) == Self.bytes[0])
                #expect(resource.object.mediaType == "image/png")
                #expect(resource.validators.etag == "\"1\"")
                #expect(resource.validators.age == 5)
                #expect(resource.receivedAt.timeIntervalSince1970 == 1000)
                #expect(resource.freshUntil.timeIntervalSince1970 == 2000)
                let other = try #require(try cache.resource("http://a.example/2"))
                #expect(try cache.bytes(of: other.object) == Self.bytes[1])

                #expect(resource.validators.vary == "Accept")
                #expect(resource.variant != nil)
                #expect(resource.responseURL == "http://b.example/1")
                let used = [resource, other].map(\.object.usedAt.timeIntervalSince1970)
                #expect(used == [5000, 5000])
                let totals = try cache.status().totals
                #expect((totals.objects, totals.resources, totals.failures) == (2, 2, 1))
                let damaged = try cache.verify().findings.flatMap(\.urls)
                #expect(damaged == (version.rawValue >= 7 ? ["http://a.example/4"] : []))

                var policy = EvictionPolicy()
                policy.maximumBytes = 0
                #expect(try cache.evict(policy).left.count == 1, "one object is pinned")
                cache.close()
            }
        }
    }

    private static let libcurlKeys = [
        "http://a.example/a|b{c}[1]^`.png", "http://a.example/caf%c3%a9", "http://a.example/%7Eu",
        "http://a.example/q?x='y'", "http://a.example/100%.png", "http://[::1]/a\\b",
    ]
    private static let currentKeys = [
        "http://a.example/a%7Cb%7Bc%7D%5B1%5D%5E%60.png", "http://a.example/caf%C3%A9",
        "http://a.example/~u", "http://a.example/q?x=%27y%27", "http://a.example/100%25.png",
        "http://[::1]/a/b",
    ]

    private func writeFifth(at directory: String, _ statements: String = "") throws {
        try write(.fifth, at: directory)
        let database = try DatabaseQueue(path: "\(directory)/index.sqlite")
        try database.write { db in
            for key in Self.libcurlKeys {
                try db.execute(
                    sql: """
                        INSERT INTO resources (key, object, received_at, fresh_until)
                        VALUES (?, 1, 1000, 2000)
                        """, arguments: [key])
            }
            try db.execute(sql: statements)
        }
        try database.close()
    }

    /// Earlier versions used URLs normalised by libcurl as keys.
    @Test func keysNormalisedByLibcurlAreMigrated() throws {
        try withTemporaryDirectory { directory in
            try writeFifth(
                at: directory.path,
                """
                INSERT INTO resources (key, object, etag, received_at, fresh_until) VALUES
                    ('http://a.example/twice%7C', 1, 'current', 1000, 2000),
                    ('http://a.example/twice|', 2, 'libcurl', 1000, 2000),
                    ('key:http://a.example/|', 1, NULL, 1000, 2000);
                UPDATE resources SET url = 'http://a.example/u|' WHERE key = 'key:http://a.example/|';
                INSERT INTO pins VALUES ('http://a.example/p|', 1000), ('key:|', 1000);
                INSERT INTO failures VALUES ('http://a.example/f%7e', NULL, 'x', 404, 1000, 1);
                """)
            let cache = try Cache.create(at: directory.path)
            for (old, current) in zip(Self.libcurlKeys, Self.currentKeys) {
                let resource = try #require(try cache.resource(current), "\(current)")
                // Requests keep the old spelling of the URL.
                let url = try HTTPURL(old).string
                #expect(resource.url == url && resource.responseURL == url)
                #expect(try cache.resource(spelledAs: old)?.key == current)
            }
            #expect(try cache.resource("http://a.example/twice%7C")?.validators.etag == "current")
            #expect(try cache.resource("key:http://a.example/|")?.url == "http://a.example/u|")
            var pins: [String] = []
            try cache.forEachPin { pins.append($0) }
            #expect(pins == ["http://a.example/p%7C", "key:key", "key:|"])
            let failures = try cache.index?.writer.read {
                try String.fetchAll(
                    $0, sql: "SELECT key || ' ' || coalesce(url, '') FROM failures ORDER BY key")
            }
            #expect(
                failures == [
                    "http://a.example/3 ", "http://a.example/f~ http://a.example/f%7e",
                ])
        }
    }

    /// URLs whose empty query libcurl removed, so that several spellings had the same key.
    private static let emptyQueries = """
        INSERT INTO resources (key, object, etag, received_at, fresh_until) VALUES
            ('http://a.example/x', 1, 'x', 1000, 2000),
            ('http://a.example/c', 1, 'c', 1000, 2000),
            ('http://a.example/c?', 2, 'c?', 1000, 2000),
            ('key:http://a.example/k', 2, 'k', 1000, 2000);
        INSERT INTO spellings SELECT 'HTTP://a.example/x?#y', id FROM resources WHERE etag = 'x';
        INSERT INTO spellings SELECT 'http://a.example/%7ex/../x?', id FROM resources
            WHERE etag = 'x';
        INSERT INTO spellings SELECT 'http://a.example/c?', id FROM resources WHERE etag = 'c';
        INSERT INTO spellings SELECT 'http://a.example/k?', id FROM resources WHERE etag = 'k';
        INSERT INTO pins VALUES ('http://a.example/x', 1000);
        """

    @Test func urlsWithAnEmptyQueryGetSeparateKeys() throws {
        try withTemporaryDirectory { directory in
            try writeFifth(at: directory.path, Self.emptyQueries)
            let cache = try Cache.create(at: directory.path)
            for key in ["http://a.example/x", "http://a.example/x?"] {
                let resource = try #require(try cache.resource(key), "\(key)")
                #expect(resource.validators.etag == "x" && resource.url == key)
            }
            for text in ["HTTP://a.example/x?#y", "http://a.example/%7ex/../x?"] {
                #expect(try cache.resource(spelledAs: text)?.key == "http://a.example/x?")
            }
            #expect(try cache.resource("http://a.example/c?")?.validators.etag == "c?")
            #expect(try cache.resource("http://a.example/c")?.validators.etag == "c")
            #expect(try cache.resource("http://a.example/k?") == nil)
            var pins: [String] = []
            try cache.forEachPin { pins.append($0) }
            #expect(pins == ["http://a.example/x", "http://a.example/x?", "key:key"])
        }
    }

    @Test func urlsWithAnEmptyQueryAreFoundInAReadOnlyIndex() throws {
        try withTemporaryDirectory { directory in
            try writeFifth(at: directory.path, Self.emptyQueries)
            let cache = try CacheDirectory(path: directory.path, create: false)
            let index = try #require(try CacheIndex(readOnly: cache))
            #expect(try index.resource("http://a.example/x?")?.validators.etag == "x")
            #expect(try index.resource("http://a.example/x")?.validators.etag == "x")
            #expect(try index.resource("http://a.example/c?")?.validators.etag == "c?")
            #expect(try index.resource("http://a.example/k?") == nil)
        }
    }

    /// A read-only index cannot be migrated.
    @Test func keysNormalisedByLibcurlAreFoundInAReadOnlyIndex() throws {
        try withTemporaryDirectory { directory in
            try writeFifth(at: directory.path)
            let cache = try CacheDirectory(path: directory.path, create: false)
            let index = try #require(try CacheIndex(readOnly: cache))
            for (old, current) in zip(Self.libcurlKeys, Self.currentKeys) {
                #expect(try index.resource(current)?.key == old)
                #expect(try index.resource(old)?.key == old)
            }
            #expect(try index.resource("http://a.example/a%7Cb") == nil)
            #expect(try index.resource(spelledAs: "HTTP://A.example/2") != nil)
        }
    }

    @Test(arguments: EarlierIndex.allCases)
    func aMigratedIndexHasTheTablesOfANewOne(_ version: EarlierIndex) throws {
        try withTemporaryDirectory { directory in
            func tables(_ path: String) throws -> [String] {
                try DatabaseQueue(path: path).read { db in
                    try [
                        "objects", "resources", "failures", "pins", "spellings", "damaged",
                    ].flatMap { table in
                        try Row.fetchAll(db, sql: "PRAGMA table_xinfo(\(table))")
                            .map { "\(table): \($0)" }
                    }
                        + String.fetchAll(
                            db, sql: "SELECT identifier FROM grdb_migrations ORDER BY identifier")
                        + String.fetchAll(
                            db,
                            sql: "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1")
                }
            }
            try write(version, at: directory.path("old"))
            try Cache.create(at: directory.path("old")).close()
            try Cache.create(at: directory.path("new")).close()
            let old = try tables(directory.path("old/index.sqlite"))
            #expect(old == (try tables(directory.path("new/index.sqlite"))))
            #expect(old.count > 20)
        }
    }

    /// For example a cache in an app bundle, written by an earlier version.
    @Test(arguments: [EarlierIndex.fifth, .sixth])
    func aReadOnlyIndexWithoutDamagedResourcesIsReadable(_ version: EarlierIndex) throws {
        try withTemporaryDirectory { directory in
            try write(version, at: directory.path)
            let cache = try CacheDirectory(path: directory.path, create: false)
            let index = try #require(try CacheIndex(readOnly: cache))
            #expect(try index.resource("http://a.example/2") != nil)
            #expect(try index.resource(spelledAs: "HTTP://A.example/2") != nil)
            #expect(try index.damagedDigests().isEmpty)
        }
    }

    /// Fails if a new migration has no case in `EarlierIndex`.
    @Test func everyMigrationHasAnEarlierIndex() throws {
        #expect(IndexSchema.migrations.count == EarlierIndex.allCases.last?.rawValue)
    }

    @Test func knownSchemaDigestsMatchTheMigrations() throws {
        try DatabaseQueue().writeWithoutTransaction { db in
            try db.execute(
                sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
            for (number, migration) in IndexSchema.migrations.enumerated() {
                // A migration without statements changes no table.
                if let statements = migration.value { try db.execute(sql: statements) }
                guard number + 1 >= EarlierIndex.fifth.rawValue else { continue }
                #expect(try IndexSchema.digest(of: db) == IndexSchema.known(number + 1))
            }
        }
    }

    /// A new index gets its tables in one step, even if a killed process left only GRDB's own
    /// table.
    @Test(arguments: [false, true])
    func aNewIndexHasTheSchemaOfAMigratedOne(_ hasBookkeeping: Bool) throws {
        let database = try DatabaseQueue()
        try database.writeWithoutTransaction { db in
            if hasBookkeeping {
                try db.execute(
                    sql: "CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
                #expect(try IndexSchema.digest(of: db) == IndexSchema.known(0))
            }
            try IndexSchema.migrate(db)
            #expect(try IndexSchema.digest(of: db) == IndexSchema.known(7))
        }
        let applied = try database.read {
            try String.fetchAll($0, sql: "SELECT identifier FROM grdb_migrations ORDER BY 1")
        }
        #expect(applied == IndexSchema.migrations.map(\.key))
    }

    @Test(arguments: EarlierIndex.allCases)
    func anIndexOfEveryVersionCanBeRebuilt(_ version: EarlierIndex) throws {
        try withTemporaryDirectory { directory in
            try write(version, at: directory.path)
            let report = try Cache.reindex(at: directory.path)
            #expect(report.source == .index)
            #expect((report.objects, report.resources, report.damaged) == (2, 2, 0))
            #expect(
                try Cache.open(at: directory.path).resource("key:key")?.url == "http://a.example/1")
        }
    }
}
