import Foundation
import GRDB
import GRDBSQLite

/// The database of resources and objects: SQLite in WAL mode at `synchronous=FULL`, so that commits
/// survive a power cut. A row is written only after the bytes it points at are durable.
final class CacheIndex: Sendable {
    let connections: IndexConnections
    let file: DatabaseFile
    /// The file that was opened; nil if it cannot be written anyway.
    private let inode: ino_t?
    let uri: String
    /// Whether it is read with its log, and cannot be locked (``DatabaseFile/Access/frozen``).
    let isFrozen: Bool
    let hasSpellings: Bool
    /// The keys of an index that an earlier version wrote and that cannot be changed, by today's
    /// keys, once they are needed. Nil if its URLs have today's keys.
    let formerKeys: Locked<[String: String]?>?
    let hasDamaged: Bool
    private let wait: WriterWait
    let pause = StepPause()
    var path: String { file.path }
    var directory: CacheDirectory { file.directory }

    /// Opens the index of `directory`, and brings its schema up to date. Waits for other writers at
    /// most for `patience`, by default as long as the directory's user does.
    init(of directory: CacheDirectory, patience: Duration? = nil) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        let wait = WriterWait(directory.wait, subject: file.path)
        self.wait = wait
        uri = file.uri(.reading)
        isFrozen = false
        hasSpellings = true
        formerKeys = nil
        hasDamaged = true
        // One process at a time, because two that migrate a new file at once both make its tables.
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        do {
            try Self.refuseNewerVersion(of: file)
            directory.removeForeignJournals()
            var configuration = Configuration()
            configuration.busyMode = .callback(wait.retry)
            let writing = configuration
            // A file gets its log in a transaction that SQLite begins without asking to wait.
            func open() throws -> DatabaseQueue {
                var attempt = 0
                while true {
                    do {
                        let writer = try file.open(.writing, writing)
                        if try !writer.writeWithoutTransaction({ try CacheIndex.setUp($0, file) }) {
                            try IndexSchema.migrator.migrate(writer)
                        }
                        return writer
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                        guard wait.retry(attempt) else { throw error }
                        attempt += 1
                    }
                }
            }
            let writer = try patience.map { try wait.limited(to: $0, open) } ?? open()
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            inode = try directory.root.status(of: CacheLayout.index)?.st_ino
            configuration.busyMode = .timeout(10)
            // Readers look up single rows, or follow an order; each would fill a cache of 2 MB.
            configuration.prepareDatabase { try $0.execute(sql: "PRAGMA cache_size = -512") }
            let readers = configuration
            connections = IndexConnections(writer: writer) { try file.open(.reading, readers) }
        } catch { throw file.failure(error) }
    }

    /// Checks what is there, gives it a log, and tables if it has none. Returns whether all
    /// migrations have been applied.
    private static func setUp(_ db: Database, _ file: DatabaseFile) throws -> Bool {
        let applied = try migrations(in: db, file)
        // Its journal is in memory, because no journal's file may be beside an index.
        if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
            try db.execute(sql: "PRAGMA journal_mode = MEMORY")
            // Pages can be given back by an index alone that was told so before it had any.
            if file.byteCount == 0 { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_IOERR, message: "it can have no log")
            }
        }
        // Less may lose commits with the power; fsync(2) on macOS leaves them in the drive.
        try db.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
        try db.execute(sql: "PRAGMA cache_size = -\(usualCache)")
        if let applied { return IndexSchema.isCurrent(applied) }
        try IndexSchema.create(in: db)
        return true
    }

    /// Opens an index that cannot be written, or that another process writes; nil if there is none.
    init?(readOnly directory: CacheDirectory, isBesideWriter: Bool = false) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        inode = nil
        wait = WriterWait(.none, subject: file.path)
        // But beside a log it would pass over commits: somebody else is writing, or was killed.
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
                // A full or read-only disk has no room to share memory; alone, none is needed.
                let isFixed = faccessat(directory.root.raw, CacheLayout.index, W_OK, 0) != 0
                if isFixed { access = .frozen }
                (queue, applied) = try open(isFixed ? .frozen : .withLog)
            }
            uri = file.uri(access)
            isFrozen = access == .frozen
            // One that a killed process left without tables reads as none.
            guard let applied else { return nil }
            guard IndexSchema.isReadable(applied) else {
                throw CacheError(
                    .index, subject: file.path,
                    message: "was written by an older version of larder, and can only be read once"
                        + " a newer one has opened it where it can be written")
            }
            hasSpellings = IndexSchema.hasSpellings(applied)
            formerKeys = IndexSchema.hasURLKeys(applied) ? nil : Locked(nil)
            hasDamaged = IndexSchema.hasDamaged(applied)
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            connections = IndexConnections(writer: queue)
        } catch { throw file.failure(error) }
    }

    private static func mayLackRoom(_ error: DatabaseError) -> Bool {
        [.SQLITE_FULL, .SQLITE_IOERR, .SQLITE_CANTOPEN, .SQLITE_READONLY].contains(error.resultCode)
    }

    /// Whether there is a database with larder's tables. Leaves no trace.
    static func isOwn(in directory: CacheDirectory) -> Bool {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        let tables = try? file.open(.alone).unsafeRead {
            try $0.tableExists("objects") && $0.tableExists("resources")
        }
        return tables ?? false
    }

    /// Refuses a newer version's index before anything beside it is made or changed.
    static func refuseNewerVersion(of file: DatabaseFile) throws {
        let root = file.directory.root
        guard let index = try root.status(of: file.name), index.st_size > 0 else { return }
        let log = try root.status(of: file.name + "-wal")
        for access in [.alone, .withLog] as [DatabaseFile.Access] {
            if access == .withLog, log?.st_size ?? 0 == 0 { continue }
            let origin = try? file.open(access).unsafeRead(IndexSchema.origin)
            if case .newer = origin { throw newerVersion(file) }
        }
    }

    static func migrations(in db: Database, _ file: DatabaseFile) throws -> Int? {
        // A single byte of its head may say that only a later SQLite can write it.
        if !db.configuration.readonly, sqlite3_db_readonly(db.sqliteConnection, "main") == 1,
            faccessat(file.directory.root.raw, file.name, W_OK, 0) == 0
        {
            throw DatabaseError.corruption("it says that it cannot be written")
        }
        // A log may state any size, and copying would fill the disk with it.
        let pages = try db.prepared("PRAGMA page_count").firstInteger() ?? 0
        let pageSize = try db.prepared("PRAGMA page_size").firstInteger() ?? 0
        guard
            pages.multipliedReportingOverflow(by: pageSize).partialValue / 2
                <= file.byteCount + 8 << 20
        else {
            throw DatabaseError.corruption("it has fewer pages than it says")
        }
        switch try IndexSchema.origin(of: db) {
        case .none: return nil
        case .own(let migrations): return migrations
        case .newer: throw newerVersion(file)
        case .foreign: throw DatabaseError.corruption("its tables are not those that larder makes")
        }
    }

    private static func newerVersion(_ file: DatabaseFile) -> CacheError {
        CacheError(
            .index, subject: file.path,
            message: "was written by a newer version of larder; use that version")
    }

    /// Writes a batch in one transaction, durably or so that ``syncLog()`` makes it durable. Throws
    /// if the index was replaced meanwhile, because what is written then is lost.
    func write(isDurable: Bool = true, _ body: (Database) throws -> Void) throws(CacheError) {
        do {
            // Within one turn of the connection: what others of this process commit stays durable.
            try connections.writer.writeWithoutTransaction { db in
                if !isDurable { try db.execute(sql: "PRAGMA synchronous = NORMAL") }
                let written = Result { try commit(db, body) }
                // Or whoever is next would take for durable what is not.
                if !isDurable { try db.execute(sql: "PRAGMA synchronous = FULL") }
                try written.get()
                // It is in the log, where others may write over it: they have not seen it.
                if SharedMemory.isLost { throw DatabaseError(resultCode: .SQLITE_IOERR) }
            }
        } catch { throw file.failure(error) }
        try confirmPlace()
    }

    /// The same, unless another process has SQLite's lock for more than a moment.
    func writeInPassing(_ body: (Database) throws -> Void) throws(CacheError) {
        do {
            // Within the connection's turn: nobody else of this process waits by that limit.
            try connections.writer.writeWithoutTransaction { db in
                try wait.limited(to: WriterWait.moment) { try commit(db, body) }
            }
        } catch { throw file.failure(error) }
    }

    private func commit(_ db: Database, _ body: (Database) throws -> Void) throws {
        try db.inTransaction(.immediate) {
            // First: what `body` says of files may be wrong once another index has taken them over.
            try confirmPlace()
            try body(db)
            return .commit
        }
    }

    private func confirmPlace() throws(CacheError) {
        guard try directory.root.status(of: CacheLayout.index)?.st_ino == inode else {
            let error = CacheError(
                .index, subject: path, message: "was deleted or replaced while it was in use")
            directory.log(.notice, error.description)
            throw error
        }
    }

    /// Closes the database: SQLite folds the log into it unless another process is there.
    func close() { connections.close() }

    /// Reads with a single statement, which needs no transaction around it: a fifth of the time.
    func lookUp<Value>(
        isWatching: Bool = false, _ body: (Database) throws -> Value
    ) throws(CacheError) -> Value {
        do {
            return try connections.reading(isWatching: isWatching) { try $0.unsafeRead(body) }
        } catch { throw file.failure(error) }
    }

    /// Reads with several statements, to all of which the index is as at one moment.
    func read<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do {
            return try connections.reading { try $0.read(body) }
        } catch { throw file.failure(error) }
    }
}

/// How long a transaction may be that others wait for.
enum WriteStep {
    /// Rows of one step, and as many others that go with them: an object may have many URLs.
    static let rowLimit = 1_000
    static let time = Duration.milliseconds(20)
}
