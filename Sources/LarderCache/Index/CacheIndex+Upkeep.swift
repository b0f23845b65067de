import Foundation
import GRDB
import GRDBSQLite

extension CacheIndex {
    /// Returns what SQLite's own check finds. A quick check does not compare rows with indices.
    func structuralComplaints(
        isQuick: Bool = false, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(CacheError) -> [String] {
        do {
            return try connections.reading { reader in
                try reader.read(unless: isCancelled) { db in
                    // It looks every row up in every index, at random.
                    try db.execute(sql: "PRAGMA cache_size = -\(Self.roomyCache)")
                    defer { try? db.execute(sql: "PRAGMA cache_size = -\(Self.usualCache)") }
                    var complaints = try db.complaints(isQuick: isQuick, limit: 20)
                    guard try IndexSchema.isIntact(db) else {
                        return complaints + ["its tables are not those that larder makes"]
                    }
                    let dangling = try db.prepared("PRAGMA foreign_key_check").rows { _ in }.count
                    if dangling > 0 {
                        complaints.append("\(dangling) resources point at no object")
                    }
                    for (table, condition) in IndexSchema.brokenRows
                    where try db.tableExists(table) {
                        let rows = try db.prepared(
                            "SELECT count(*) FROM \(table) WHERE \(condition)"
                        ).firstInteger()
                        if let rows, rows > 0 {
                            complaints.append("\(rows) \(table) have what is not a digest or size")
                        }
                    }
                    return complaints
                }
            }
        } catch is CancellationError {
            return []
        } catch { throw file.failure(error) }
    }

    /// Replaces the copy of the index from which URLs come back if the index is lost. If there can
    /// be none, nothing else fails.
    func trySnapshot(in run: RunDirectory? = nil) {
        guard let run = run ?? (try? RunDirectory(in: directory)) else { return }
        let name = run.uniqueName()
        do {
            let copy = try DatabaseFile(of: run, name, in: directory).open(.making)
            try connections.reading { try $0.backup(to: copy) }
            // The copy says that it has a log, as the index does, and nobody would find one.
            try copy.writeWithoutTransaction { try $0.execute(sql: "PRAGMA journal_mode = MEMORY") }
            try copy.close()
            try run.publish(name, as: CacheLayout.snapshot, in: directory.root)
        } catch {
            run.remove(name)
        }
    }

    func foldLog() throws {
        _ = try connections.writer.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        directory.log(.debug, "folded the log of the index into it")
    }

    /// Writes one step of long work in a transaction, and leaves others time to begin theirs.
    func writeStep(isDurable: Bool = true, _ body: (Database) throws -> Void) throws(CacheError) {
        try write(isDurable: isDurable, body)
        let version = try? connections.writer.writeWithoutTransaction {
            try Int.fetchOne($0, sql: "PRAGMA data_version")
        }
        pause.stepEnded(version ?? nil)
    }

    func syncLog() throws(CacheError) {
        do {
            try connections.writer.writeWithoutTransaction { db in
                let connection = db.sqliteConnection
                var log: UnsafeMutablePointer<sqlite3_file>?
                var code = sqlite3_file_control(
                    connection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
                if code == SQLITE_OK, let log, let methods = log.pointee.pMethods {
                    code = methods.pointee.xSync(log, SQLITE_SYNC_FULL | SQLITE_SYNC_DATAONLY)
                }
                guard code == SQLITE_OK else {
                    throw DatabaseError(
                        resultCode: ResultCode(rawValue: code), message: "the log's sync failed")
                }
            }
        } catch { throw file.failure(error) }
    }

    /// Gives long work that writes all over the index room for pages that it changes repeatedly.
    func withRoom<Value>(_ body: () throws -> Value) throws -> Value {
        func set(cache: Int, checkpoint: Int) throws {
            try connections.writer.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA cache_size = -\(cache)")
                try $0.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpoint)")
            }
        }
        try set(cache: Self.roomyCache, checkpoint: 4_000)
        defer { try? set(cache: Self.usualCache, checkpoint: 1_000) }
        return try body()
    }

    /// In KiB: SQLite's default, …
    static let usualCache = 2_000
    /// … and what work on all rows gets.
    private static let roomyCache = 8_000

    /// Pages are moved so many at a time: others wait for it.
    private static let pagesPerStep = 100
    /// So many free pages stay, and a twentieth of all: the next run wants them.
    private static let sparePages = 64

    /// Cuts free pages off the end, in steps. Older indexes keep their length until a rebuild.
    func shrink(unless isCancelled: () -> Bool) throws(CacheError) {
        while !isCancelled() {
            let free = try read { db in
                guard try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2 else { return 0 }
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                return free - max(Self.sparePages, pages / 20)
            }
            guard free > 0 else { return }
            // A power cut may undo it: nothing rests on it.
            try writeStep(isDurable: false) { db in
                let deadline = ContinuousClock.now + WriteStep.time
                // It goes page by page, a row each.
                let vacuum = try db.prepared(
                    "PRAGMA incremental_vacuum(\(min(free, Self.pagesPerStep)))")
                defer { vacuum.reset() }
                while try vacuum.next() != nil, ContinuousClock.now < deadline {}
            }
        }
    }
}

extension DatabaseQueue {
    func copy(to other: DatabaseQueue, unless isCancelled: @escaping () -> Bool) throws {
        try backup(to: other, pagesPerStep: 1_000) { _ in
            if isCancelled() { throw CancellationError() }
        }
    }

    /// Copies it into a new file without free pages and without a log, not durably.
    func compact(into file: DatabaseFile) throws {
        file.make()
        try writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "VACUUM INTO ?", arguments: [file.draftURI])
        }
    }
}
