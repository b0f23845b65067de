import Foundation
import GRDB
import LarderTestSupport
import Synchronization
import Testing

@testable import LarderCache
@testable import LarderCore

@Suite struct CacheIndexTests {
    private func index(at path: String) throws -> CacheIndex {
        try CacheIndex(of: CacheDirectory(path: path, create: true))
    }

    /// With GRDB's defaults, a power cut loses the last commits.
    @Test func commitsToTheIndexAreDurable() throws {
        try withTemporaryDirectory { directory in
            let index = try index(at: directory.path)
            var mode: String?
            var synchronous: Int?
            var flushes: Bool?
            try index.write { db in
                mode = try String.fetchOne(db, sql: "PRAGMA journal_mode")
                synchronous = try Int.fetchOne(db, sql: "PRAGMA synchronous")
                flushes = try Bool.fetchOne(db, sql: "PRAGMA fullfsync")
            }
            #expect(mode == "wal")
            #expect(synchronous == 2)
            #expect(flushes == true)
        }
    }

    /// For example, cron may start several processes with the same empty directory.
    @Test(arguments: 0..<5) func theIndexCanBeCreatedConcurrently(_ round: Int) throws {
        try withTemporaryDirectory { directory in
            let failures = Mutex<[any Error]>([])
            DispatchQueue.concurrentPerform(iterations: 8) { number in
                do {
                    let store = try Cache.create(at: directory.path).store()
                    try store.put(noise(50, seed: number), at: "\(number)")
                    store.flush()
                } catch {
                    failures.withLock { $0.append(error) }
                }
            }
            #expect(failures.withLock { $0 }.isEmpty)
            let cache = try Cache.open(at: directory.path)
            #expect(try cache.status().totals.resources == 8)
            #expect(try cache.verify().isClean)
        }
    }

    @Test func anIndexOfANewerVersionIsRefused() throws {
        try withTemporaryDirectory { directory in
            try index(at: directory.path).write { db in
                try db.execute(
                    sql: "INSERT INTO grdb_migrations VALUES ('1000: of a version to come')")
            }
            for open in Cache.openings {
                let error = #expect(throws: CacheError.self) { _ = try open(directory.path) }
                #expect(error?.code == .index)
                #expect(error?.message.contains("newer version") == true)
            }
            let cache = try CacheDirectory(path: directory.path, create: false)
            let error = #expect(throws: CacheError.self) { _ = try CacheIndex(readOnly: cache) }
            #expect(error?.message.contains("newer version") == true)
        }
    }

    @Test func aFileThatIsNotADatabaseIsRefusedAndKept() throws {
        try withTemporaryDirectory { directory in
            let text = Array(String(repeating: "not a database. ", count: 400).utf8)
            _ = try CacheDirectory(path: directory.path, create: true)
            try Tree.put(text, at: directory.path("index.sqlite"))
            let error = #expect(throws: CacheError.self) {
                _ = try Cache.open(at: directory.path)
            }
            #expect(error?.code == .damaged)
            #expect(try Tree.bytes(directory.path("index.sqlite")) == text)
        }
    }

    @Test func invalidRowsAreRejected() throws {
        try withTemporaryDirectory { directory in
            let index = try index(at: directory.path)
            for sql in [
                "INSERT INTO objects (digest, size, stored_at) VALUES (x'00', 1, 0)",
                "INSERT INTO objects (digest, size, stored_at) VALUES (zeroblob(32), -1, 0)",
                """
                INSERT INTO resources (key, object, received_at, fresh_until)
                VALUES ('dangling', 1, 0, 0)
                """,
            ] {
                let error = #expect(throws: CacheError.self) {
                    try index.write { try $0.execute(sql: sql) }
                }
                #expect(error?.code == .index)
            }
        }
    }

    @Test func aFailedTransactionIsRolledBack() throws {
        try withTemporaryDirectory { directory in
            let index = try index(at: directory.path)
            #expect(throws: CacheError.self) {
                try index.write { db in
                    try db.execute(
                        sql:
                            "INSERT INTO objects (digest, size, stored_at) VALUES (zeroblob(32), 1, 0)"
                    )
                    throw CacheError(.storage, subject: "disk", message: "full")
                }
            }
            #expect(try index.totals().objects == 0)
        }
    }

    @Test func objectsAreListedByTheirFirstByte() throws {
        try withTemporaryDirectory { directory in
            let index = try index(at: directory.path)
            let digests = try [0x00, 0x01, 0x7F, 0xFE, 0xFF].flatMap { (first: UInt8) in
                try [0x00, 0xFF].map { (rest: UInt8) in
                    try #require(
                        Digest(bytes: [first] + [UInt8](repeating: rest, count: 31)))
                }
            }
            try index.write { db in
                for digest in digests {
                    try db.execute(
                        sql: "INSERT INTO objects (digest, size, stored_at) VALUES (?, 1, 0)",
                        arguments: [digest.blob])
                }
            }
            for byte in UInt8.min...UInt8.max {
                #expect(
                    try index.objects(fanOut: byte).map(\.digest).sorted()
                        == digests.filter { $0.bytes[0] == byte })
            }
        }
    }

    @Test func theTotalsOfTheIndexAreCounted() throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            try store.put(noise(100, seed: 1), at: "a")
            try store.put(noise(100, seed: 1), at: "b")
            store.add(
                .staged(try store.stage(noise(50, seed: 2))), at: "old",
                receivedAt: Date(timeIntervalSince1970: 0))
            store.flush()
            let totals = try index(at: directory.path).totals()
            #expect((totals.objects, totals.bytes) == (2, 150))
            #expect((totals.resources, totals.freshResources) == (3, 2))
            let oldest = try #require(totals.oldest)
            #expect(abs(oldest.timeIntervalSinceNow) < 60)
            #expect(try #require(totals.newest) >= oldest)
        }
    }

    /// A commit to a deleted file is lost, so it must not be reported as stored.
    @Test(arguments: [true, false]) func aCommitToADeletedIndexFails(isReplaced: Bool) throws {
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path)
            let store = try cache.store()
            let batches = CommittedBatches(of: store)
            try batches.put(noise(100, seed: 1), at: "a")
            store.flush()
            for name in CacheLayout.indexFiles { unlink(directory.path(name)) }
            if isReplaced { _ = try Cache.create(at: directory.path) }
            try batches.put(noise(100, seed: 2), at: "b")
            store.flush()
            _ = try batches.outcomes[0].result.get()
            let error = #expect(throws: CacheError.self) { try batches.outcomes[1].result.get() }
            #expect(error?.code == .index)
            cache.close()
            let again = try Cache.create(at: directory.path)
            #expect(try again.resource("b") == nil)
            #expect(try again.verify().isClean)
        }
    }

    /// SQLite itself only reports that it cannot open the file, as it does for a failing disk.
    @Test func aPathTooLongForSQLiteIsReportedAsSuch() throws {
        try withTemporaryDirectory { directory in
            let name = Array(repeating: String(repeating: "x", count: 100), count: 6)
                .joined(separator: "/")
            let file = DatabaseFile(
                name, in: try CacheDirectory(path: directory.path, create: true))
            let error = #expect(throws: CacheError.self) { _ = try file.open(.reading) }
            #expect(error?.code == .unusable)
            #expect(error?.message.contains("too long for SQLite") == true)
        }
    }

    // MARK: Reading without writing

    @Test func aReadOnlyIndexIsReadWithoutChanges() throws {
        try withTemporaryDirectory { directory in
            let bytes = noise(10, seed: 1)
            do { _ = try Cache.filled(at: directory.path, with: ["key": bytes]) }
            let before = Tree.files(directory.path)
            let index = try #require(
                try CacheIndex(readOnly: CacheDirectory(path: directory.path, create: false)))
            #expect(try index.resource("key")?.object.size == 10)
            #expect(throws: CacheError.self) {
                try index.write { try $0.execute(sql: "DELETE FROM resources") }
            }
            #expect(Tree.files(directory.path) == before)
        }
    }

    /// The commits of a running or killed process may exist in the write-ahead log only.
    @Test func aReadOnlyIndexIncludesItsWriteAheadLog() throws {
        try withTemporaryDirectory { directory in
            let writer = try index(at: directory.path)
            let reader = try CacheDirectory(path: directory.path, create: false)
            for id in 1...3 {
                try writer.write { db in
                    try db.execute(
                        sql: "INSERT INTO objects (digest, size, stored_at) VALUES (?, 1, 0)",
                        arguments: [Digest.reference(of: [UInt8(id)]).blob])
                }
                #expect(try #require(try CacheIndex(readOnly: reader)).totals().objects == id)
            }
        }
    }

    /// A process that is killed early leaves a file without tables.
    @Test func anEmptyIndexFileReadsAsAbsent() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: true)
            try Tree.put([], at: directory.path("index.sqlite"))
            let index = try CacheIndex(readOnly: cache)
            #expect(index == nil)
            #expect(try Cache.open(at: directory.path).status().totals.objects == 0)
        }
    }

    @Test func anAbsentIndexIsNil() throws {
        try withTemporaryDirectory { directory in
            let cache = try CacheDirectory(path: directory.path, create: false)
            let index = try CacheIndex(readOnly: cache)
            #expect(index == nil)
        }
    }
}
