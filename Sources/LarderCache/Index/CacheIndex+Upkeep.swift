import Foundation
import GRDB
import GRDBSQLite

extension CacheIndex {
    /// Returns descriptions of damage. A quick check does not compare rows with SQLite's indexes.
    func structuralComplaints(
        isQuick: Bool = false, isCancelled: @escaping @Sendable () -> Bool = { false }
    ) throws(CacheError) -> [String] {
        do {
            return try reading { reader in
                try reader.read(unless: isCancelled) { db in
                    // The check looks up rows in random order, which needs a larger page cache.
                    try db.execute(sql: "PRAGMA cache_size = -\(Self.roomyCache)")
                    defer { try? db.execute(sql: "PRAGMA cache_size = -\(Self.usualCache)") }
                    var complaints = try db.complaints(isQuick: isQuick, limit: 20)
                    do {
                        _ = try IndexSchema.applied(to: db, at: file.path)
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
                        return complaints + [error.message ?? ""]
                    }
                    let dangling = try db.prepared("PRAGMA foreign_key_check").rows { _ in }.count
                    if dangling > 0 { complaints.append("\(dangling) resources have no object") }
                    for (table, condition) in IndexSchema.brokenRows
                    where try db.tableExists(table) {
                        let rows = try db.prepared(
                            "SELECT count(*) FROM \(table) WHERE \(condition)"
                        ).firstInteger()
                        if let rows, rows > 0 {
                            complaints.append("\(rows) rows of \(table) have invalid values")
                        }
                    }
                    return complaints
                }
            }
        } catch is CancellationError {
            return []
        } catch { throw file.failure(error) }
    }

    /// Replaces the snapshot, which is used to recover the URLs of a lost index. Ignores errors.
    func trySnapshot(in run: RunDirectory? = nil) {
        guard let run = run ?? (try? RunDirectory(in: directory)) else { return }
        let name = run.uniqueName()
        do {
            let copy = try DatabaseFile(name, of: run, in: directory).open(.making)
            try reading { try $0.backup(to: copy) }
            // The copied header requests a log, but a snapshot must be a single file.
            try copy.execute("PRAGMA journal_mode = MEMORY")
            try copy.close()
            try run.publish(name, as: CacheLayout.snapshot, in: directory.root)
        } catch { run.remove(name) }
    }

    func foldLog() throws {
        _ = try writer.writeWithoutTransaction { try $0.checkpoint(.truncate) }
        directory.log(.debug, "folded the log into the index")
    }

    /// Writes one transaction of a series. Pauses regularly, so that other processes can write.
    func writeStep(isDurable: Bool = true, _ body: (Database) throws -> Void) throws(CacheError) {
        try write(isDurable: isDurable, body)
        guard lastPause.withLock({ ContinuousClock.now - $0 >= WriteStep.time }) else { return }
        usleep(3_000)
        lastPause.withLock { $0 = .now }
    }

    func syncLog() throws(CacheError) {
        try withWriter { db in
            var log: UnsafeMutablePointer<sqlite3_file>?
            var code = sqlite3_file_control(
                db.sqliteConnection, "main", SQLITE_FCNTL_JOURNAL_POINTER, &log)
            if code == SQLITE_OK, let log, let methods = log.pointee.pMethods {
                code = methods.pointee.xSync(log, SQLITE_SYNC_FULL | SQLITE_SYNC_DATAONLY)
            }
            guard code == SQLITE_OK else {
                throw DatabaseError(
                    resultCode: ResultCode(rawValue: code), message: "the log could not be synced")
            }
        }
    }

    func withRoom<Value>(_ body: () throws -> Value) throws -> Value {
        func set(cache: Int, checkpoint: Int) throws {
            try writer.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA cache_size = -\(cache)")
                try $0.execute(sql: "PRAGMA wal_autocheckpoint = \(checkpoint)")
            }
        }
        try set(cache: Self.roomyCache, checkpoint: 4_000)
        defer { try? set(cache: Self.usualCache, checkpoint: 1_000) }
        return try body()
    }

    static let usualCache = 2_000
    /// The page cache's size for work on all rows, in KiB.
    private static let roomyCache = 8_000

    func shrink(unless isCancelled: () -> Bool) throws(CacheError) {
        while !isCancelled() {
            let free = try lookUp(inTransaction: true) { db in
                guard try Int.fetchOne(db, sql: "PRAGMA auto_vacuum") == 2 else { return 0 }
                let pages = try Int.fetchOne(db, sql: "PRAGMA page_count") ?? 0
                let free = try Int.fetchOne(db, sql: "PRAGMA freelist_count") ?? 0
                return free - max(64, pages / 20)
            }
            guard free > 0 else { return }
            // If this step is lost in a power cut, the next one repeats it.
            try writeStep(isDurable: false) { db in
                let deadline = ContinuousClock.now + WriteStep.time
                let vacuum = try db.prepared("PRAGMA incremental_vacuum(\(min(free, 100)))")
                defer { vacuum.reset() }
                while try vacuum.next() != nil, ContinuousClock.now < deadline {}
            }
        }
    }
}

extension DatabaseQueue {
    /// A temporary database, so that memory use does not grow with the number of icons.
    package static func scratch(_ schema: String) throws -> DatabaseQueue {
        let database = try DatabaseFile.openScratch(at: nil, joining: nil)
        try database.execute("PRAGMA main.cache_size = -2048;\n\(schema)")
        return database
    }

    package func execute(_ sql: String) throws {
        try writeWithoutTransaction { try $0.execute(sql: sql) }
    }

    func copy(to other: DatabaseQueue, unless isCancelled: @escaping () -> Bool) throws {
        try backup(to: other, pagesPerStep: 1_000) { _ in
            if isCancelled() { throw CancellationError() }
        }
    }

    /// Writes a copy that has no free pages and no log. The copy is not durable.
    func compact(into file: DatabaseFile) throws {
        file.make()
        try writeWithoutTransaction { db in
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            try db.execute(sql: "VACUUM INTO ?", arguments: [file.uri(.copying)])
        }
    }
}

extension DatabaseReader {
    func read<Value>(
        unless isCancelled: @escaping @Sendable () -> Bool, _ body: (Database) throws -> Value
    ) throws -> Value {
        if isCancelled() { throw CancellationError() }
        do {
            return try read { db in
                let cancellation = StepLimit.Cancellation(isCancelled: isCancelled)
                return try StepLimit.$cancellation.withValue(cancellation) { try body(db) }
            }
        } catch let error as DatabaseError
            where error.resultCode == .SQLITE_INTERRUPT && isCancelled()
        {
            throw CancellationError()
        }
    }
}

extension Database {
    func complaints(isQuick: Bool, limit: Int) throws -> [String] {
        try self.prepared("PRAGMA \(isQuick ? "quick" : "integrity")_check(\(limit))")
            .rows { $0.text() ?? "" }.filter { $0 != "ok" }
    }
}

extension DatabaseError {
    static func corruption(_ message: String, sql: String? = nil) -> DatabaseError {
        DatabaseError(resultCode: .SQLITE_CORRUPT, message: message, sql: sql)
    }
}
