import Foundation
import GRDB

/// The database of resources and objects: SQLite in WAL mode at `synchronous=FULL`, so that a
/// commit that has returned survives a power cut.
///
/// Invariant: a row is written only after the bytes it points at are durable.
final class CacheIndex: Sendable {
    /// Rows are read so many at a time.
    private static let pageLimit = 500

    let database: any DatabaseWriter
    let path: String
    let directory: CacheDirectory
    /// The file that was opened; nil where it cannot be written anyway.
    private let inode: ino_t?
    /// The index's file for another connection of this process that only reads.
    let uri: String
    private let wait: WriterWait

    /// Opens the index of `directory`, and brings its schema up to date.
    ///
    /// - Parameter patience: how long to wait at most for another process's writing; nil: as the directory's
    ///   user is to wait. Default: nil.
    init(of directory: CacheDirectory, patience: Duration? = nil) throws(CacheError) {
        let path = directory.indexPath
        self.path = path
        let wait = WriterWait(directory.wait, subject: path)
        self.wait = wait
        self.directory = directory
        uri = Self.uri(path, mode: "mode=ro")
        // One process at a time, because two that migrate a new file at once both make its tables.
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        do {
            var configuration = Configuration()
            configuration.busyMode = .callback(wait.goesOn)
            configuration.maximumReaderCount = 4
            let isNew = try directory.root.status(of: CacheLayout.index).map { $0.st_size == 0 }
            configuration.prepareDatabase { db in
                // Readers look up single rows, or follow an order; each would fill a cache of 2 MB.
                try db.execute(sql: "PRAGMA cache_size = -512")
                // Pages can be given back by an index alone that was told so before it had any.
                guard isNew ?? true, !db.configuration.readonly else { return }
                try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL")
            }
            // GRDB writes where there is no log yet, in a transaction that begins by reading: SQLite asks nobody
            // then whether to wait.
            func open() throws -> DatabasePool {
                var attempt = 0
                while true {
                    do {
                        return try DatabasePool(path: path, configuration: configuration)
                    } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                        guard wait.goesOn(attempt) else { throw error }
                        attempt += 1
                    }
                }
            }
            let pool = try patience.map { try wait.limited(to: $0, open) } ?? open()
            // GRDB's pool chooses NORMAL, which may lose the last commits with the power. And on
            // macOS fsync(2) leaves them in the drive's cache unless SQLite is told otherwise.
            try pool.writeWithoutTransaction {
                try $0.execute(
                    sql: """
                        PRAGMA synchronous = FULL; PRAGMA fullfsync = ON;
                        PRAGMA cache_size = -\(Self.usualCache)
                        """)
            }
            let migrator = IndexSchema.migrator
            try Self.refuseNewerVersion(pool, path)
            if try !pool.read(migrator.hasCompletedMigrations) { try migrator.migrate(pool) }
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            inode = try directory.root.status(of: CacheLayout.index)?.st_ino
            database = pool
        } catch let error as CacheError {
            throw error
        } catch {
            throw directory.judged(CacheError(index: path, error))
        }
    }

    /// Opens an index whose directory cannot be written; `nil` where there is none.
    ///
    /// - Parameter isBesideWriter: whether somebody else is known to write it. Default: false.
    init?(
        readOnly directory: CacheDirectory, isBesideWriter: Bool = false
    ) throws(CacheError) {
        path = directory.indexPath
        self.directory = directory
        inode = nil
        wait = WriterWait(.none, subject: path)
        // `immutable`: no locks and no shared memory, neither of which a read-only medium has.
        // But beside a log it would pass over commits: somebody else is writing, or was killed.
        let log = try directory.root.status(of: CacheLayout.index + "-wal")
        let isWritten = isBesideWriter || log.map { $0.st_size > 0 } ?? false
        uri = Self.uri(path, mode: isWritten ? "mode=ro" : "immutable=1")
        guard try directory.root.status(of: CacheLayout.index) != nil else { return nil }
        do {
            var configuration = Configuration()
            configuration.readonly = true
            let queue = try DatabaseQueue(path: uri, configuration: configuration)
            // One that a killed process left without tables reads as none.
            guard try !queue.read(IndexSchema.migrator.appliedIdentifiers).isEmpty else {
                return nil
            }
            try Self.refuseNewerVersion(queue, path)
            guard try queue.read(IndexSchema.migrator.hasCompletedMigrations) else {
                throw CacheError(
                    .index, subject: path,
                    message: """
                        was written by an older version of larder, and can only be read once a newer \
                        one has opened it where it can be written
                        """)
            }
            try CacheRoot.confirm(directory.root, isAt: directory.path)
            database = queue
        } catch let error as CacheError {
            throw error
        } catch {
            throw directory.judged(CacheError(index: path, error))
        }
    }

    /// Whether there is a database with larder's tables; false where it cannot be read. Leaves no trace.
    static func isOwn(_ path: String) -> Bool {
        var configuration = Configuration()
        configuration.readonly = true
        let uri = uri(path, mode: "immutable=1")
        let tables = try? DatabaseQueue(path: uri, configuration: configuration).read {
            try $0.tableExists("objects") && $0.tableExists("resources")
        }
        return tables ?? false
    }

    private static func refuseNewerVersion(_ database: any DatabaseReader, _ path: String) throws {
        guard try database.read(IndexSchema.migrator.hasBeenSuperseded) else { return }
        throw CacheError(
            .index, subject: path,
            message: "was written by a newer version of larder; use that version")
    }

    private static func uri(_ path: String, mode: String) -> String {
        let escaped = path.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? path
        return "file:\(escaped)?\(mode)"
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
        try lookUp { try Int.fetchOne($0, sql: "SELECT 1 FROM objects LIMIT 1") != nil }
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
        try read { db in
            try PreparedStatement(
                db,
                """
                SELECT \(StoredObject.columns) FROM objects o
                WHERE o.digest >= ?1 AND (?2 IS NULL OR o.digest < ?2)
                """
            ).rows(Data([byte]), byte == 255 ? nil : Data([byte + 1])) { try StoredObject($0) }
        }
    }

    /// The URLs that resolve to an object.
    func keys(of digest: Digest) throws(CacheError) -> [String] {
        try lookUp { db in
            try String.fetchAll(
                db,
                sql: """
                    SELECT r.key FROM resources r JOIN objects o ON o.id = r.object
                    WHERE o.digest = ? ORDER BY r.key
                    """, arguments: [digest.blob])
        }
    }

    /// Counts and sums over all rows.
    func totals() throws(CacheError) -> IndexTotals {
        try read { db in
            let objects = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*), coalesce(sum(size), 0), min(stored_at), max(stored_at),
                        min(used_at), max(used_at), (SELECT count(*) FROM pins)
                    FROM objects
                    """)
            let resources = try Row.fetchOne(
                db,
                sql: """
                    SELECT count(*), coalesce(sum(\(Resource.isFresh(at: Date()))), 0),
                        (SELECT count(*) FROM failures)
                    FROM resources r
                    """)
            func instant(_ column: Int) -> Date? {
                (objects?[column] as Double?).map(Date.init(timeIntervalSince1970:))
            }
            return IndexTotals(
                objects: objects?[0] ?? 0, bytes: objects?[1] ?? 0,
                resources: resources?[0] ?? 0, freshResources: resources?[1] ?? 0,
                failures: resources?[2] ?? 0,
                oldest: instant(2), newest: instant(3), oldestUse: instant(4),
                newestUse: instant(5), pins: objects?[6] ?? 0)
        }
    }

    /// How many objects there are, and the sum of their sizes.
    func objectTotals() throws(CacheError) -> EvictionReport.Tally {
        try read { db in
            var tally = EvictionReport.Tally()
            let row = try Row.fetchOne(
                db, sql: "SELECT count(*), coalesce(sum(size), 0) FROM objects")
            tally.count = row?[0] ?? 0
            tally.bytes = row?[1] ?? 0
            return tally
        }
    }

    /// How many objects were stored or used before ``ObjectUse/earliest`` and after `instant`, how many there
    /// are, and since which day most are of a time to come (0: they are not).
    func objectsOfImpossibleTimes(
        after instant: Double
    ) throws(CacheError) -> (before: Int, toCome: Int, all: Int, doubtfulSince: Int)? {
        try lookUp { db in
            try Row.fetchOne(
                db,
                sql: """
                    SELECT coalesce(sum(min(used_at, stored_at) < ?), 0),
                        coalesce(sum(max(used_at, stored_at) > ?), 0), count(*),
                        (SELECT user_version FROM pragma_user_version)
                    FROM objects
                    """, arguments: [ObjectUse.earliest, instant]
            ).map { ($0[0], $0[1], $0[2], $0[3]) }
        }
    }

    /// The pinned keys after `key`, in their order.
    func pins(after key: String, limit: Int) throws(CacheError) -> [String] {
        try lookUp { db in
            let page = try PreparedStatement(
                db, "SELECT key FROM pins WHERE key > ? ORDER BY key LIMIT ?"
            ).rows(key, limit) { $0.text(0) ?? "" }
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
    func write(_ body: (Database) throws -> Void) throws(CacheError) {
        do {
            try database.write { db in
                // Before: what it says of files may be no longer so, once another index has taken them over.
                try confirmPlace()
                try body(db)
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
            try database.writeWithoutTransaction { db in
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
    func close() {
        // This closes a pool's readers. `close` alone would close them last, and who leaves last
        // folds the log in, which a reader cannot.
        (database as? DatabasePool)?.releaseMemory()
        try? database.close()
    }

    func failure(_ error: any Error) -> CacheError {
        directory.judged(CacheError(index: path, error))
    }

    /// Reads with a single statement, which needs no transaction around it: a fifth of the time.
    private func lookUp<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do { return try database.unsafeRead(body) } catch { throw failure(error) }
    }

    /// Reads with several statements, to all of which the index is as at one moment.
    func read<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do { return try database.read(body) } catch { throw failure(error) }
    }
}

extension Digest {
    var blob: Data { Data(bytes) }
}
