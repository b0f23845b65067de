import Foundation
import GRDB
import GRDBSQLite

/// The SQLite database of resources and objects, in WAL mode. Rows are written only after the bytes
/// of their objects are durable.
///
/// It uses a connection for writing and up to four for reading, but not GRDB's pool, which finds
/// the log by path instead of URI and writes whenever it opens a database.
final class CacheIndex: Sendable {
    private static let readerLimit = 4
    let writer: DatabaseQueue
    private let openReader: (@Sendable () throws -> DatabaseQueue)?
    private let places = DispatchSemaphore(value: CacheIndex.readerLimit)
    private let state = Locked((idle: [DatabaseQueue](), isClosed: false))
    let file: DatabaseFile
    private let inode: ino_t?
    let uri: String
    let isFrozen: Bool
    /// False for a read-only index of an older version, which lacks the table `damaged`.
    let isMigrated: Bool
    let formerKeys = Locked<[String: String]?>(nil)
    private let wait: WriterWait
    let lastPause = Locked(ContinuousClock.now)
    var directory: CacheDirectory { file.directory }

    init(of directory: CacheDirectory, patience: Duration? = nil) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        let wait = WriterWait(directory.wait, subject: file.path)
        self.wait = wait
        uri = file.uri(.reading)
        (isFrozen, isMigrated) = (false, true)
        // Without this lock, two processes could both create the tables of a new file.
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        do {
            try Self.refuseNewerVersion(of: file)
            directory.removeForeignJournals()
            var writing = Configuration()
            writing.busyMode = .callback(wait.retry)
            // SQLite does not call the busy handler for the transaction that enables the log.
            func open() throws -> DatabaseQueue {
                var attempt = 0
                while true {
                    do {
                        let writer = try file.open(.writing, writing)
                        try writer.writeWithoutTransaction { try CacheIndex.setUp($0, file) }
                        return writer
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                        guard wait.retry(attempt) else { throw error }
                        attempt += 1
                    }
                }
            }
            writer = try patience.map { try wait.limited(to: $0, open) } ?? open()
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            inode = try directory.root.status(of: CacheLayout.index)?.st_ino
            var reading = Configuration()
            reading.busyMode = .timeout(10)
            // Readers look up single rows or scan in order, so a small page cache is enough.
            reading.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -512") }
            openReader = { [reading] in try file.open(.reading, reading) }
        } catch { throw file.failure(error) }
    }

    private static func setUp(_ db: Database, _ file: DatabaseFile) throws {
        let applied = try migrations(in: db, file)
        if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
            // Journals are kept in memory, because the index must not have a journal file.
            try db.execute(sql: "PRAGMA journal_mode = MEMORY")
            // auto_vacuum can be set only in an empty database.
            if file.byteCount == 0 { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_IOERR, message: "the log cannot be enabled")
            }
        }
        // Weaker modes may lose commits in a power cut. On macOS, fsync(2) is not enough.
        try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
        try db.execute(sql: "PRAGMA cache_size = -\(usualCache)")
        if applied != IndexSchema.migrations.count { try IndexSchema.migrate(db) }
    }

    init?(readOnly directory: CacheDirectory, isBesideWriter: Bool = false) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        (inode, openReader) = (nil, nil)
        wait = WriterWait(.none, subject: file.path)
        // `.alone` would ignore commits in the log of a running or killed writer.
        let log = try directory.root.status(of: CacheLayout.index + "-wal")
        let isWritten = isBesideWriter || log.map { $0.st_size > 0 } ?? false
        var access = isWritten ? DatabaseFile.Access.reading : .alone
        guard try directory.root.status(of: CacheLayout.index) != nil else { return nil }
        do {
            func open(_ access: DatabaseFile.Access) throws -> (DatabaseQueue, Int?) {
                let queue = try file.open(access)
                return (queue, try queue.unsafeRead { try Self.migrations(in: $0, file) })
            }
            let queue: DatabaseQueue
            let applied: Int?
            do {
                (queue, applied) = try open(access)
            } catch let error as DatabaseError where isWritten && Self.mayLackRoom(error) {
                // SQLite needs disk space for shared memory, but the disk is full or read-only.
                let isFixed = faccessat(directory.root.raw, CacheLayout.index, W_OK, 0) != 0
                if isFixed { access = .frozen }
                (queue, applied) = try open(isFixed ? .frozen : .withLog)
            }
            uri = file.uri(access)
            isFrozen = access == .frozen
            // The index has no tables if a process was killed while creating it.
            guard let applied else { return nil }
            isMigrated = applied == IndexSchema.migrations.count
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            writer = queue
        } catch { throw file.failure(error) }
    }

    deinit { close() }

    /// Closes all connections, the writer last, so that it checkpoints the log.
    func close() {
        for _ in 0..<Self.readerLimit { places.wait() }
        defer { for _ in 0..<Self.readerLimit { places.signal() } }
        let readers = state.withLock { state in
            defer { state = ([], true) }
            return state.idle
        }
        for reader in readers { try? reader.close() }
        try? writer.close()
    }

    private static func mayLackRoom(_ error: DatabaseError) -> Bool {
        [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode)
    }

    /// Throws if a newer version wrote the index. Call this before changing any file.
    static func refuseNewerVersion(of file: DatabaseFile) throws {
        let root = file.directory.root
        guard let index = try root.status(of: file.name), index.isRegularFile, index.st_size > 0
        else { return }
        let log = try root.status(of: file.name + "-wal")
        for access in log?.st_size ?? 0 > 0 ? [DatabaseFile.Access.alone, .withLog] : [.alone] {
            do {
                _ = try file.open(access).unsafeRead {
                    try IndexSchema.applied(to: $0, at: file.path)
                }
            } catch let error as CacheError where error.code == .index { throw error } catch {}
        }
    }

    static func migrations(in db: Database, _ file: DatabaseFile) throws -> Int? {
        // A flipped bit can mark the database as read-only.
        if !db.configuration.readonly, sqlite3_db_readonly(db.sqliteConnection, "main") == 1,
            faccessat(file.directory.root.raw, file.name, W_OK, 0) == 0
        {
            throw DatabaseError.corruption("its header marks it as read-only")
        }
        // A log can state any database size, and a copy of that size would fill the disk.
        let pages = try db.prepared("PRAGMA page_count").firstInteger() ?? 0
        let pageSize = try db.prepared("PRAGMA page_size").firstInteger() ?? 0
        guard
            pages.multipliedReportingOverflow(by: pageSize).partialValue / 2
                <= file.byteCount + 8 << 20
        else {
            throw DatabaseError.corruption("the file has fewer pages than its header states")
        }
        return try IndexSchema.applied(to: db, at: file.path)
    }

    /// Writes one transaction. Unless `isDurable`, it is durable only after ``syncLog()``. Throws
    /// if the index was replaced.
    func write(isDurable: Bool = true, _ body: (Database) throws -> Void) throws(CacheError) {
        // The mode is set and reset in one access, so that other commits stay durable.
        try withWriter { db in
            if !isDurable { try db.execute(sql: "PRAGMA synchronous = NORMAL") }
            let written = Result { try commit(db, body) }
            if !isDurable { try db.execute(sql: "PRAGMA synchronous = FULL") }
            try written.get()
            // Without shared memory, other processes may overwrite this commit in the log.
            if SharedMemory.isLost { throw DatabaseError(resultCode: .SQLITE_IOERR) }
        }
        try confirmPlace()
    }

    func writeInPassing(_ body: (Database) throws -> Void) throws(CacheError) {
        try withWriter { db in try wait.limited(to: WriterWait.moment) { try commit(db, body) } }
    }

    func withWriter(_ body: (Database) throws -> Void) throws(CacheError) {
        try judging { try writer.writeWithoutTransaction(body) }
    }

    private func commit(_ db: Database, _ body: (Database) throws -> Void) throws {
        try db.inTransaction(.immediate) {
            // If the index was replaced, `body` may record files that belong to the new index.
            try confirmPlace()
            try body(db)
            return .commit
        }
    }

    private func confirmPlace() throws(CacheError) {
        guard try directory.root.status(of: CacheLayout.index)?.st_ino == inode else {
            let error = CacheError(
                .index, subject: file.path, message: "was deleted or replaced while it was in use")
            directory.log(.notice, error.description)
            throw error
        }
    }

    func judging<Value>(_ body: () throws -> Value) throws(CacheError) -> Value {
        do { return try body() } catch { throw file.failure(error) }
    }

    /// Reads rows. With `inTransaction`, reading one row takes five times as long, but many rows
    /// are faster to read, because SQLite does not lock the log for each of them.
    func lookUp<Value>(
        inTransaction: Bool = false, _ body: (Database) throws -> Value
    ) throws(CacheError) -> Value {
        try judging { try reading { try inTransaction ? $0.read(body) : $0.unsafeRead(body) } }
    }

    func reading<Value>(_ body: (DatabaseQueue) throws -> Value) throws -> Value {
        guard let openReader else { return try body(writer) }
        places.wait()
        defer { places.signal() }
        let reader = try state.withLock { state in
            guard !state.isClosed else {
                throw DatabaseError(resultCode: .SQLITE_MISUSE, message: "is closed")
            }
            return state.idle.popLast()
        }
        let connection = try reader ?? openReader()
        defer { state.withLock { $0.idle.append(connection) } }
        return try body(connection)
    }
}

/// Limits on the size of a transaction, so that other writers do not wait long.
enum WriteStep {
    /// The maximum number of rows, including dependent rows, because an object may have many URLs.
    static let rowLimit = 1_000
    static let time = Duration.milliseconds(20)
}
