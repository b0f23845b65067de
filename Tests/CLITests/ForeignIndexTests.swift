import Foundation
import GRDB
import LarderTestSupport
import Testing

/// A cache from elsewhere whose index, or what lies beside it, was made to do harm.
@Suite struct ForeignIndexTests {
    /// Every command that opens a cache.
    private static func commands(_ manifest: String, _ url: String, _ copy: String) -> [[String]] {
        let network = ["--allow-private-network"]
        return [
            ["status"], ["list"], ["plan", manifest], ["path", url], ["cat", url], ["verify"],
            ["verify", "--repair"] + network, ["verify", "--manifest", manifest],
            ["evict", "--max-count", "1000"], ["evict", "--max-count", "0", "--dry-run"],
            ["pin", url], ["pin"], ["unpin", url], ["snapshot", copy], ["reindex"],
            ["prefetch", manifest] + network,
        ]
    }

    private func forEachCommand(
        _ larder: CLIFixture, plant: () throws -> Void,
        _ body: ([String], Finished) throws -> Void
    ) throws {
        let urls = larder.origin.serveIcons(3)
        let manifest = try larder.manifest(urls: urls)
        try #require(try larder.prefetch(manifest).status == 0)
        let whole = larder.directory.path("whole")
        try FileManager.default.copyItem(atPath: larder.cache, toPath: whole)
        let commands = Self.commands(manifest, urls[0], larder.directory.path("copy"))
        for command in commands {
            try FileManager.default.removeTree(atPath: larder.cache)
            try FileManager.default.copyItem(atPath: whole, toPath: larder.cache)
            try plant()
            try body(command, larder.binary.run(command + ["--cache", larder.cache]))
            try? FileManager.default.removeTree(atPath: larder.directory.path("copy"))
        }
    }

    /// A rollback journal of no pages that was begun and not ended, of a transaction that the file `victim` was
    /// the super-journal of (sqlite.org/fileformat2.html, "The Rollback Journal").
    private func journal(naming victim: String, pages: UInt32) -> [UInt8] {
        func bytes(_ number: UInt32) -> [UInt8] {
            withUnsafeBytes(of: number.bigEndian, Array.init)
        }
        let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
        var journal = magic + bytes(0) + bytes(0) + bytes(pages) + bytes(512) + bytes(4096)
        journal += [UInt8](repeating: 0, count: 512 - journal.count)
        let name = Array(victim.utf8)
        let sum = name.reduce(UInt32(0)) { $0 &+ UInt32(bitPattern: Int32(Int8(bitPattern: $1))) }
        // The page in which locks lie, which no journal has.
        return journal + bytes((1 << 30) / 4096 + 1) + name + bytes(UInt32(name.count)) + bytes(sum)
            + magic
    }

    /// SQLite deletes the super-journal of a journal that it has played back, wherever that is.
    @Test(arguments: ["index.sqlite", "index.snapshot.sqlite"])
    func aPlantedJournalDeletesNothingOutside(_ name: String) async throws {
        try await withFixture { larder in
            let victim = larder.directory.path("victim")
            try forEachCommand(larder) {
                let database = "\(larder.cache)/\(name)"
                // The victim names no journal that is there, so it seems done with.
                try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
                // Out of WAL mode, or SQLite would ask for no journal.
                try DatabaseQueue(path: database).writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA journal_mode = DELETE")
                }
                let length = try Data(contentsOf: URL(fileURLWithPath: database)).count / 4096
                if name != "index.sqlite" { unlink(larder.cache + "/index.sqlite") }
                let journal = journal(naming: victim, pages: UInt32(length))
                try Data(journal).write(to: URL(fileURLWithPath: "\(database)-journal"))
            } _: { command, finished in
                #expect(
                    FileManager.default.fileExists(atPath: victim), "\(command): \(finished)")
                #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
            }
        }
    }

    /// Views that never end in the places of tables.
    @Test(arguments: ["pins", "failures", "grdb_migrations", "resources"])
    func aViewInATablesPlaceIsDamage(_ table: String) async throws {
        try await withFixture { larder in
            try forEachCommand(larder) {
                try DatabaseQueue(path: larder.cache + "/index.sqlite").writeWithoutTransaction {
                    try $0.execute(
                        sql: """
                            PRAGMA foreign_keys = OFF;
                            ALTER TABLE \(table) RENAME TO aside;
                            CREATE VIEW \(table) AS WITH RECURSIVE c(x) AS
                                (SELECT 1 UNION ALL SELECT x + 1 FROM c)
                                SELECT x AS key, x AS identifier FROM c;
                            PRAGMA journal_mode = DELETE
                            """)
                }
            } _: { command, finished in
                expectRefusalOrMending(command, finished)
            }
        }
    }

    @Test(arguments: [
        "UPDATE objects SET stored_at = 'never'", "UPDATE objects SET digest = NULL",
        "UPDATE objects SET size = 'much'", "UPDATE objects SET size = 9223372036854775807",
        "UPDATE objects SET size = -1", "UPDATE objects SET used_at = 9e999",
        "UPDATE resources SET key = x'00ff' WHERE id = 1", "UPDATE resources SET received_at = 'x'",
        "UPDATE grdb_migrations SET identifier = NULL",
        "CREATE TRIGGER t AFTER UPDATE ON objects BEGIN DELETE FROM resources; END",
        "CREATE INDEX more ON objects (size)",
    ])
    func valuesOfOtherTypesAreDamage(_ statement: String) async throws {
        try await withFixture { larder in
            try forEachCommand(larder) {
                try plantRows(statement, in: larder.cache + "/index.sqlite")
            } _: { command, finished in
                #expect(
                    [0, 1, 2].contains(finished.status), "\(command), \(statement): \(finished)")
            }
        }
    }

    /// With tables that take anything, as nobody's SQLite makes them of strict ones.
    private func plantRows(_ statement: String, in path: String) throws {
        try DatabaseQueue(path: path).writeWithoutTransaction { db in
            let tables = try Row.fetchAll(
                db, sql: "SELECT name, sql FROM sqlite_master WHERE type = 'table' AND sql <> ''"
            ).map { (name: $0[0] as String, sql: $0[1] as String) }
            func set(_ change: (String) -> String) throws {
                try db.execute(sql: "PRAGMA writable_schema = ON")
                for table in tables {
                    try db.execute(
                        sql: "UPDATE sqlite_master SET sql = ? WHERE type = 'table' AND name = ?",
                        arguments: [change(table.sql), table.name])
                }
                try db.execute(sql: "PRAGMA writable_schema = RESET")
            }
            try db.execute(sql: "PRAGMA ignore_check_constraints = ON")
            try set {
                $0.replacing("STRICT, ", with: "").replacing("STRICT", with: "")
                    .replacing(" NOT NULL", with: "").replacing("PRIMARY KEYS", with: "")
            }
            try? db.execute(sql: statement)
            try set { $0 }
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
        }
    }

    private func expectRefusalOrMending(_ command: [String], _ finished: Finished) {
        switch command[0] {
        case "prefetch", "reindex",
            "pin" where command != ["pin"]:
            #expect(finished.status == 0, "\(command): \(finished)")
        case "verify":
            #expect([1, 2].contains(finished.status), "\(command): \(finished)")
            let text = finished.standardOutput + finished.standardError
            #expect(text.contains("larder reindex"), "\(command): \(finished)")
        default:
            #expect(finished.status == 1, "\(command): \(finished)")
            #expect(finished.standardError.contains("larder reindex"), "\(command): \(finished)")
        }
    }

    @Test func aNewerVersionsIndexKeepsEveryByte() async throws {
        try await withFixture { larder in
            var before: [[UInt8]: FilePrint] = [:]
            func prints() -> [[UInt8]: FilePrint] {
                FilePrint.tree(Array(larder.cache.utf8)).filter {
                    String(decoding: $0.key, as: UTF8.self).contains("/index.")
                }
            }
            try forEachCommand(larder) {
                try DatabaseQueue(path: larder.cache + "/index.sqlite").writeWithoutTransaction {
                    try $0.execute(
                        sql: """
                            INSERT INTO grdb_migrations VALUES ('1000: of a time to come');
                            CREATE TABLE novelties (id INTEGER PRIMARY KEY);
                            PRAGMA journal_mode = DELETE
                            """)
                }
                before = prints()
            } _: { command, finished in
                #expect(finished.status == 1, "\(command): \(finished)")
                #expect(finished.standardError.contains("newer version"), "\(command): \(finished)")
                #expect(prints() == before, "\(command)")
            }
        }
    }
}
