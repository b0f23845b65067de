import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Caches of unknown origin whose index, or a file next to it, is malicious.
@Suite struct ForeignIndexTests {
    /// After SQLite plays back a journal, it deletes the super-journal that the journal names,
    /// wherever that file is. A snapshot is opened as immutable, so SQLite ignores its journal.
    /// `ConfinedFileSystemTests` covers all ways to open an index.
    @Test(arguments: ["index.sqlite", "index.snapshot.sqlite"])
    func aPlantedJournalDeletesNothingOutsideTheCache(_ name: String) async throws {
        try await withFixture { larder in
            let victim = larder.directory.path("victim")
            try larder.forEachCommand {
                let database = "\(larder.cache)/\(name)"
                // The victim names no existing journal, so SQLite would delete it.
                try Data("precious".utf8).write(to: URL(fileURLWithPath: victim))
                // In WAL mode, SQLite would not look for a journal.
                try DatabaseQueue(path: database).writeWithoutTransaction {
                    try $0.execute(sql: "PRAGMA journal_mode = DELETE")
                }
                let length = try Data(contentsOf: URL(fileURLWithPath: database)).count / 4096
                if name != "index.sqlite" { unlink(larder.cache + "/index.sqlite") }
                let journal = HotJournal.bytes(naming: victim, pages: UInt32(length))
                try Data(journal).write(to: URL(fileURLWithPath: "\(database)-journal"))
            } _: { command, finished in
                #expect(
                    FileManager.default.fileExists(atPath: victim), "\(command): \(finished)")
                #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
            }
        }
    }

    /// The rows of the view never end.
    @Test(arguments: ["pins", "failures", "grdb_migrations", "resources"])
    func aViewThatReplacesATableIsDamage(_ table: String) async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
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
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }

    @Test(
        arguments: share(of: [
            "UPDATE objects SET stored_at = 'never'", "UPDATE objects SET digest = NULL",
            "UPDATE objects SET size = 'much'", "UPDATE objects SET size = 9223372036854775807",
            "UPDATE objects SET size = -1", "UPDATE objects SET used_at = 9e999",
            "UPDATE resources SET key = x'00ff' WHERE id = 1",
            "UPDATE resources SET received_at = 'x'",
            "UPDATE grdb_migrations SET identifier = NULL",
            "CREATE TRIGGER t AFTER UPDATE ON objects BEGIN DELETE FROM resources; END",
            "CREATE INDEX more ON objects (size)",
        ]))
    func unexpectedValuesAndSchemaObjectsAreDamage(_ statement: String) async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                try plantRows(statement, in: larder.cache + "/index.sqlite")
            } _: { command, finished in
                switch command[0] {
                case "reindex":
                    #expect(finished.status == 0, "\(finished)")
                    // URLs with invalid rows remain until they are fetched again.
                    let repair = try larder.run("verify", "--repair", "--allow-private-network")
                    let verify = try larder.run("verify")
                    #expect(verify.status == 0, "\(repair) \(verify)")
                case "verify":
                    #expect(finished.status == 2, "\(command): \(finished)")
                    #expect(
                        finished.standardOutput.contains("index: index.sqlite: ")
                            || command.contains("--manifest"), "\(command): \(finished)")
                case "path", "cat":
                    // A URL whose key is unreadable counts as not cached.
                    let isAbsent =
                        finished.status == 2
                        && finished.standardError.hasSuffix(": not cached\n")
                    #expect(
                        [0, 1].contains(finished.status) || isAbsent, "\(command): \(finished)")
                default:
                    let isRefused =
                        finished.status == 1
                        && (finished.standardOutput + finished.standardError)
                            .contains("larder reindex")
                    #expect(finished.status == 0 || isRefused, "\(command): \(finished)")
                }
            }
        }
    }

    /// Runs `statement` while the schema has no STRICT and NOT NULL, which would reject the values.
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
                    .replacing(" NOT NULL", with: "")
            }
            let count = "SELECT count(*) FROM sqlite_master"
            let objects = try Int.fetchOne(db, sql: count)
            let changes = db.totalChangesCount
            try db.execute(sql: statement)
            try #require(
                try db.totalChangesCount > changes || Int.fetchOne(db, sql: count) != objects,
                "\(statement) changed nothing")
            try set { $0 }
            try db.execute(sql: "PRAGMA journal_mode = DELETE")
        }
    }

    /// Four levels of B-tree pages, each with 600 references to the next: 130 billion leaves in
    /// 20 kB.
    @Test(arguments: ["objects", "resources"])
    func pagesThatRepeatTheirChildrenAreDamage(_ table: String) async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                try plantLevels(4, in: table, of: larder.cache + "/index.sqlite")
            } _: { command, finished in
                #expect([0, 1, 2].contains(finished.status), "\(command): \(finished)")
                if ["status", "verify", "snapshot"].contains(command[0]) {
                    let text = finished.standardOutput + finished.standardError
                    #expect(text.contains("larder reindex"), "\(command): \(finished)")
                }
            }
        }
    }

    private func plantLevels(_ levels: Int, in table: String, of path: String) throws {
        let queue = try DatabaseQueue(path: path)
        let root = try queue.read { db in
            try Int.fetchOne(
                db, sql: "SELECT rootpage FROM sqlite_master WHERE name = ?", arguments: [table])
        }
        try queue.close()
        var file = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        // SQLite rejects pages with more than 681 cells.
        let (page, children) = (4096, 600)
        let start = (try #require(root) - 1) * page
        let leaf = Array(file[start..<start + page])
        try #require(leaf[0] == 13, "the table has more than one page")
        func bytes(_ number: Int) -> [UInt8] {
            withUnsafeBytes(of: UInt32(number).bigEndian, Array.init)
        }
        // All cell pointers lead to the one cell at the end of the page
        // (sqlite.org/fileformat2.html, "B-tree Pages").
        func interior(to child: Int) -> [UInt8] {
            let cell = bytes(child) + [1]
            let place = page - cell.count
            var interior: [UInt8] = [5, 0, 0] + bytes(children)[2...] + bytes(place)[2...] + [0]
            interior += bytes(child)
            for _ in 0..<children { interior += bytes(place)[2...] }
            return interior + [UInt8](repeating: 0, count: place - interior.count) + cell
        }
        let first = file.count / page + 1
        file.replaceSubrange(start..<start + page, with: interior(to: first))
        for level in 1..<levels { file += interior(to: first + level) }
        file += leaf
        file.replaceSubrange(28..<32, with: bytes(file.count / page))
        try Data(file).write(to: URL(fileURLWithPath: path))
    }

    @Test func aSparseIndexOfATerabyteIsDamage() async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                try larder.stretch(larder.cache + "/index.sqlite")
            } _: { command, finished in
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }

    /// The log that a newer version leaves next to its index.
    enum LogState: CaseIterable {
        case none, empty
        /// The log of a killed process. Only the log shows the newer version.
        case full
    }

    @Test(arguments: share(of: LogState.allCases))
    func anIndexOfANewerVersionIsNotChanged(_ log: LogState) async throws {
        try await withFixture { larder in
            let path = larder.cache + "/index.sqlite"
            var before: [[UInt8]: FilePrint] = [:]
            func indexPrints() -> [[UInt8]: FilePrint] {
                FilePrint.tree(Array(larder.cache.utf8)).filter {
                    String(decoding: $0.key, as: UTF8.self).contains("/index.")
                }
            }
            try larder.forEachCommand {
                let aside = larder.directory.path("aside.sqlite")
                try? FileManager.default.removeItem(atPath: aside)
                try FileManager.default.moveItem(atPath: path, toPath: aside)
                let queue = try DatabaseQueue(path: aside)
                if log == .full {
                    try FileManager.default.copyItem(atPath: aside, toPath: path)
                }
                try queue.writeWithoutTransaction {
                    try $0.execute(
                        sql: """
                            INSERT INTO grdb_migrations VALUES ('1000: of a time to come');
                            CREATE TABLE novelties (id INTEGER PRIMARY KEY)
                            """)
                    if log == .none {
                        try $0.execute(sql: "PRAGMA journal_mode = DELETE")
                    }
                }
                switch log {
                case .full:
                    try FileManager.default.copyItem(atPath: aside + "-wal", toPath: path + "-wal")
                    try queue.close()
                case .none, .empty:
                    try queue.close()
                    try FileManager.default.moveItem(atPath: aside, toPath: path)
                    if log == .empty {
                        try Data().write(to: URL(fileURLWithPath: path + "-wal"))
                    }
                }
                before = indexPrints()
            } _: { command, finished in
                #expect(finished.status == 1, "\(command): \(finished)")
                #expect(finished.standardError.contains("newer version"), "\(command): \(finished)")
                #expect(indexPrints() == before, "\(command)")
            }
        }
    }

    /// The byte at offset 18 of an index is the file format version that a writer must know.
    @Test func anIndexMarkedAsReadOnlyIsDamage() async throws {
        try await withFixture { larder in
            try larder.forEachCommand {
                let index = try FileHandle(
                    forUpdating: URL(fileURLWithPath: larder.cache + "/index.sqlite"))
                try index.seek(toOffset: 18)
                try index.write(contentsOf: [3])
                try index.close()
            } _: { command, finished in
                finished.expectRefusalOrRepair(of: command)
            }
        }
    }
}
