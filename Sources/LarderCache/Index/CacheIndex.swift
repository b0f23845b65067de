import Foundation
import GRDB

/// The database of resources and objects: SQLite in WAL mode at `synchronous=FULL`, so that a
/// commit that has returned survives a power cut.
///
/// Invariant: a row is written only after the bytes it points at are durable.
final class CacheIndex: Sendable {
    /// Rows are read so many at a time.
    private static let pageLimit = 500

    let connections: IndexConnections
    let file: DatabaseFile
    let directory: CacheDirectory
    /// The file that was opened; nil where it cannot be written anyway.
    private let inode: ino_t?
    /// The index's file for another connection of this process that only reads.
    let uri: String
    private let wait: WriterWait
    var path: String { file.path }

    /// Opens the index of `directory`, and brings its schema up to date.
    ///
    /// - Parameter patience: how long to wait at most for another process's writing; nil: as the directory's
    ///   user is to wait. Default: nil.
    init(of directory: CacheDirectory, patience: Duration? = nil) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        let wait = WriterWait(directory.wait, subject: file.path)
        self.wait = wait
        self.directory = directory
        uri = file.uri(.reading)
        // One process at a time, because two that migrate a new file at once both make its tables.
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        do {
            try Self.refuseNewerVersion(of: file)
            directory.removeForeignJournals()
            var configuration = Configuration()
            configuration.busyMode = .callback(wait.goesOn)
            let writing = configuration
            // A file gets its log in a transaction that begins by reading: SQLite asks nobody then whether to wait.
            func open() throws -> DatabaseQueue {
                var attempt = 0
                while true {
                    do {
                        return try Self.openWriter(file, writing)
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                        guard wait.goesOn(attempt) else { throw error }
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
        } catch let error as CacheError {
            throw error
        } catch {
            throw directory.judged(CacheError(index: file.path, error))
        }
    }

    private static func openWriter(
        _ file: DatabaseFile, _ configuration: Configuration
    ) throws -> DatabaseQueue {
        let writer = try file.open(.writing, configuration)
        if try writer.writeWithoutTransaction({ try setUp($0, file) }) == false {
            try IndexSchema.migrator.migrate(writer)
        }
        return writer
    }

    /// Checks what is there, and gives it a log. Returns whether all migrations have been applied.
    private static func setUp(_ db: Database, _ file: DatabaseFile) throws -> Bool {
        let applied = try migrations(in: db, file) ?? 0
        // A file without a log gets one; in memory, since no journal's file is to be beside an index.
        if try String.fetchOne(db, sql: "PRAGMA journal_mode") != "wal" {
            try db.execute(sql: "PRAGMA journal_mode = MEMORY")
            // Pages can be given back by an index alone that was told so before it had any.
            if file.byteCount == 0 { try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL") }
            guard try String.fetchOne(db, sql: "PRAGMA journal_mode = WAL") == "wal" else {
                throw DatabaseError(resultCode: .SQLITE_IOERR, message: "it can have no log")
            }
        }
        // Anything less may lose the last commits with the power. And on macOS fsync(2) leaves them in the
        // drive's cache unless SQLite is told otherwise.
        try db.execute(
            sql: """
                PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
                PRAGMA cache_size = -\(usualCache)
                """)
        return IndexSchema.isCurrent(applied)
    }

    /// Opens an index whose directory cannot be written; `nil` where there is none.
    ///
    /// - Parameter isBesideWriter: whether somebody else is known to write it. Default: false.
    init?(
        readOnly directory: CacheDirectory, isBesideWriter: Bool = false
    ) throws(CacheError) {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        self.file = file
        self.directory = directory
        inode = nil
        wait = WriterWait(.none, subject: file.path)
        // But beside a log it would pass over commits: somebody else is writing, or was killed.
        let log = try directory.root.status(of: CacheLayout.index + "-wal")
        let isWritten = isBesideWriter || log.map { $0.st_size > 0 } ?? false
        let access = isWritten ? DatabaseFile.Access.reading : .alone
        uri = file.uri(access)
        guard try directory.root.status(of: CacheLayout.index) != nil else { return nil }
        do {
            let queue = try file.open(access)
            // One that a killed process left without tables reads as none.
            guard let applied = try queue.unsafeRead({ try Self.migrations(in: $0, file) }) else {
                return nil
            }
            guard IndexSchema.isCurrent(applied) else {
                throw CacheError(
                    .index, subject: file.path,
                    message: """
                        was written by an older version of larder, and can only be read once a newer \
                        one has opened it where it can be written
                        """)
            }
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            connections = IndexConnections(reader: queue)
        } catch let error as CacheError {
            throw error
        } catch {
            throw directory.judged(CacheError(index: file.path, error))
        }
    }

    /// Whether there is a database with larder's tables; false where it cannot be read. Leaves no trace.
    static func isOwn(in directory: CacheDirectory) -> Bool {
        let file = DatabaseFile(CacheLayout.index, in: directory)
        let tables = try? file.open(.alone).unsafeRead {
            try $0.tableExists("objects") && $0.tableExists("resources")
        }
        return tables ?? false
    }

    /// Refuses a newer version's index before anything beside it is made or changed.
    static func refuseNewerVersion(of file: DatabaseFile) throws {
        guard let status = try file.directory.root.status(of: file.name), status.st_size > 0,
            let origin = try? file.open(.alone).unsafeRead(IndexSchema.origin)
        else { return }
        if case .newer = origin { throw newerVersion(file) }
    }

    /// How many migrations have been applied; nil where there are no tables yet.
    static func migrations(in db: Database, _ file: DatabaseFile) throws -> Int? {
        // A log may state any size, and copying would fill the disk with it.
        let pages = try PreparedStatement(db, "PRAGMA page_count").firstInteger() ?? 0
        let pageSize = try PreparedStatement(db, "PRAGMA page_size").firstInteger() ?? 0
        guard
            pages.multipliedReportingOverflow(by: pageSize).partialValue / 2
                <= file.byteCount + 8 << 20
        else {
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "it has fewer pages than it says")
        }
        switch try IndexSchema.origin(of: db) {
        case .none: return nil
        case .own(let migrations): return migrations
        case .newer: throw newerVersion(file)
        case .foreign:
            throw DatabaseError(
                resultCode: .SQLITE_CORRUPT, message: "its tables are not those that larder makes")
        }
    }

    private static func newerVersion(_ file: DatabaseFile) -> CacheError {
        CacheError(
            .index, subject: file.path,
            message: "was written by a newer version of larder; use that version")
    }

    /// The resource of a key, and the object it points at.
    func resource(_ key: String) throws(CacheError) -> Resource? { try resources([key])[0] }

    private static let findResource = """
        SELECT \(Resource.columns) FROM resources r JOIN objects o ON o.id = r.object WHERE r.key = ?
        """

    /// The same for several, in their order.
    func resources(_ keys: [String]) throws(CacheError) -> [Resource?] {
        try lookUp { db in
            let find = try PreparedStatement(db, Self.findResource)
            return try keys.map { key in
                try find.rows(key, as: Resource.init).first.flatMap { $0.isAsNamed ? $0 : nil }
            }
        }
    }

    /// The object of a digest, if the index vouches for one.
    func object(_ digest: Digest) throws(CacheError) -> StoredObject? {
        try lookUp { db in
            try PreparedStatement(
                db, "SELECT \(StoredObject.columns) FROM objects o WHERE o.digest = ?"
            ).rows(digest) { try StoredObject($0) }.first
        }
    }

    /// Whether the index vouches for any object.
    func hasObjects() throws(CacheError) -> Bool {
        try lookUp { db in
            try PreparedStatement(db, "SELECT 1 FROM objects LIMIT 1").firstInteger() != nil
        }
    }

    /// Every resource in the order of its key, one at a time. No transaction is open meanwhile: `body` may
    /// ask the index, and take its time.
    func forEachResource(_ body: (Resource) throws -> Void) throws {
        var (last, comparison) = ("", ">=")
        while true {
            let page = try lookUp { db in
                let page = try PreparedStatement(
                    db,
                    """
                    SELECT \(Resource.columns) FROM resources r JOIN objects o ON o.id = r.object
                    WHERE r.key \(comparison) ? ORDER BY r.key LIMIT \(Self.pageLimit)
                    """
                ).rows(last, as: Resource.init)
                try Self.confirm(page.last?.key, isBehind: comparison == ">" ? last : nil)
                return page
            }
            guard let end = page.last else { return }
            (last, comparison) = (end.key, ">")
            for resource in page where resource.isAsNamed { try body(resource) }
        }
    }

    /// Every object whose digest begins with `byte`.
    func objects(fanOut byte: UInt8) throws(CacheError) -> [StoredObject] {
        try rows(StoredObject.columns, fanOut: byte) { try StoredObject($0) }
    }

    /// Their digests, which SQLite reads from the index over them alone.
    func digests(fanOut byte: UInt8) throws(CacheError) -> [Digest] {
        try rows("o.digest", fanOut: byte) { try $0.requireDigest(0) }
    }

    private func rows<Value>(
        _ columns: String, fanOut byte: UInt8,
        as row: @escaping (PreparedStatement) throws -> Value
    ) throws(CacheError) -> [Value] {
        let rest = Digest.byteCount - 1
        return try read { db in
            // Two bounds, and no other condition: it is what SQLite looks up, not what it tries on every row.
            try PreparedStatement(
                db, "SELECT \(columns) FROM objects o WHERE o.digest BETWEEN ? AND ?"
            ).rows(
                Data([byte] + [UInt8](repeating: 0, count: rest)),
                Data([byte] + [UInt8](repeating: 255, count: rest)), as: row)
        }
    }

    /// The URLs that resolve to an object.
    func keys(of digest: Digest) throws(CacheError) -> [String] {
        try lookUp { db in
            try PreparedStatement(
                db,
                """
                SELECT r.key FROM resources r JOIN objects o ON o.id = r.object
                WHERE o.digest = ? ORDER BY r.key
                """
            ).rows(digest) { try $0.requireText(0) }
        }
    }

    /// Counts and sums over all rows.
    func totals() throws(CacheError) -> IndexTotals {
        try read { db in
            var totals = IndexTotals()
            // Not count(*), which no limit on steps would end.
            let objects = try PreparedStatement(
                db,
                """
                SELECT count(id), coalesce(sum(size), 0), min(stored_at), max(stored_at),
                    min(used_at), max(used_at), (SELECT count(key) FROM pins)
                FROM objects
                """)
            defer { objects.reset() }
            if try objects.step() {
                func instant(_ column: CInt) throws -> Date? {
                    objects.isNull(column)
                        ? nil : Date(timeIntervalSince1970: try objects.requireTime(column))
                }
                totals.objects = Int(objects.integer(0))
                totals.bytes = try objects.requireInteger(1)
                totals.oldest = try instant(2)
                totals.newest = try instant(3)
                totals.oldestUse = try instant(4)
                totals.newestUse = try instant(5)
                totals.pins = Int(objects.integer(6))
            }
            let resources = try PreparedStatement(
                db,
                """
                SELECT count(id), coalesce(sum(\(Resource.isFresh(at: Date()))), 0),
                    (SELECT count(key) FROM failures)
                FROM resources r
                """)
            defer { resources.reset() }
            if try resources.step() {
                totals.resources = Int(resources.integer(0))
                totals.freshResources = Int(resources.integer(1))
                totals.failures = Int(resources.integer(2))
            }
            return totals
        }
    }

    /// How many objects there are, and the sum of their sizes.
    func objectTotals() throws(CacheError) -> EvictionReport.Tally {
        try read { try EvictionReport.Tally($0, "objects") }
    }

    /// How many objects were stored or used before ``ObjectUse/earliest`` and after `instant`, how many there
    /// are, and since which day most are of a time to come (0: they are not).
    func objectsOfImpossibleTimes(
        after instant: Double
    ) throws(CacheError) -> (before: Int, toCome: Int, all: Int, doubtfulSince: Int)? {
        try lookUp { db in
            try PreparedStatement(
                db,
                """
                SELECT coalesce(sum(min(used_at, stored_at) < ?), 0),
                    coalesce(sum(max(used_at, stored_at) > ?), 0), count(id),
                    (SELECT user_version FROM pragma_user_version)
                FROM objects
                """
            ).rows(ObjectUse.earliest, instant) {
                (
                    Int($0.integer(0)), Int($0.integer(1)), Int($0.integer(2)),
                    Int($0.integer(3))
                )
            }.first
        }
    }

    /// The pinned keys after `key`, in their order.
    func pins(after key: String, limit: Int) throws(CacheError) -> [String] {
        try lookUp { db in
            let page = try PreparedStatement(
                db, "SELECT key FROM pins WHERE key > ? ORDER BY key LIMIT ?"
            ).rows(key, limit) { try $0.requireText(0) }
            try Self.confirm(page.last, isBehind: key)
            return page
        }
    }

    /// A page that does not lead on would be read for ever: its index is damaged.
    private static func confirm(_ end: String?, isBehind last: String?) throws {
        guard let end, let last, !last.utf8.lexicographicallyPrecedes(end.utf8) else { return }
        throw DatabaseError(resultCode: .SQLITE_CORRUPT, message: "keys are out of order")
    }

    func isPinned(_ key: String) throws(CacheError) -> Bool {
        try lookUp { db in
            try Int.fetchOne(db, sql: "SELECT 1 FROM pins WHERE key = ?", arguments: [key]) != nil
        }
    }

    /// Writes a batch in one transaction: returns when it is durable.
    ///
    /// - Throws: ``CacheError``, also where the index was deleted meanwhile: what is written to it
    ///   then is nowhere.
    ///
    /// - Parameter isDurable: whether it is durable on return, and not only after ``syncLog()``. Default: true.
    func write(
        isDurable: Bool = true, _ body: (Database) throws -> Void
    ) throws(CacheError) {
        do {
            // Within one turn of the connection: what others of this process commit stays durable.
            try connections.writer.writeWithoutTransaction { db in
                if !isDurable { try db.execute(sql: "PRAGMA synchronous = NORMAL") }
                defer { if !isDurable { try? db.execute(sql: "PRAGMA synchronous = FULL") } }
                try db.inTransaction(.immediate) {
                    // Before: what it says of files may be no longer so, once another index has taken them over.
                    try confirmPlace()
                    try body(db)
                    return .commit
                }
            }
        } catch {
            throw error as? CacheError ?? failure(error)
        }
        try confirmPlace()
    }

    /// The same for what nothing depends on: not where another process has SQLite's lock for more than a moment.
    func writeInPassing(_ body: (Database) throws -> Void) throws(CacheError) {
        do {
            // Within the connection's turn: nobody else of this process waits by that limit.
            try connections.writer.writeWithoutTransaction { db in
                try wait.limited(to: WriterWait.moment) {
                    try db.inTransaction(.immediate) {
                        try confirmPlace()
                        try body(db)
                        return .commit
                    }
                }
            }
        } catch {
            throw error as? CacheError ?? failure(error)
        }
    }

    private func confirmPlace() throws(CacheError) {
        guard try directory.root.status(of: CacheLayout.index)?.st_ino == inode else {
            throw CacheError(
                .index, subject: path, message: "was deleted or replaced while it was in use")
        }
    }

    /// Leaves the database: SQLite folds the log into it unless another process is there. Everything
    /// that follows fails.
    func close() { connections.close() }

    func failure(_ error: any Error) -> CacheError {
        directory.judged(CacheError(index: path, error))
    }

    /// Reads with a single statement, which needs no transaction around it: a fifth of the time.
    private func lookUp<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do {
            return try connections.reading { try $0.unsafeRead(body) }
        } catch { throw failure(error) }
    }

    /// Reads with several statements, to all of which the index is as at one moment.
    func read<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do {
            return try connections.reading { try $0.read(body) }
        } catch { throw failure(error) }
    }
}

extension Digest {
    var blob: Data { Data(bytes) }
}
