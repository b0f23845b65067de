import Foundation
import GRDB

/// The database of resources and objects: SQLite in WAL mode at `synchronous=FULL`, so that a
/// commit that has returned survives a power cut.
///
/// Invariant: a row is written only after the bytes it points at are durable.
final class CacheIndex: Sendable {
    private let database: any DatabaseWriter
    private let path: String
    private let directory: CacheDirectory
    /// The file that was opened; nil where it cannot be written anyway.
    private let inode: ino_t?
    /// The index's file for another connection of this process that only reads.
    let uri: String

    /// Opens the index of `directory`, and brings its schema up to date.
    init(of directory: CacheDirectory) throws(CacheError) {
        path = directory.indexPath
        self.directory = directory
        uri = Self.uri(path, mode: "mode=ro")
        // One process at a time, because two that migrate a new file at once both make its tables.
        let lock = try directory.openingLock()
        defer { withExtendedLifetime(lock) {} }
        do {
            var configuration = Configuration()
            configuration.busyMode = .timeout(30)
            configuration.maximumReaderCount = 4
            let pool = try DatabasePool(path: path, configuration: configuration)
            // GRDB's pool chooses NORMAL, which may lose the last commits with the power. And on
            // macOS fsync(2) leaves them in the drive's cache unless SQLite is told otherwise.
            try pool.writeWithoutTransaction {
                try $0.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON")
            }
            let migrator = IndexSchema.migrator
            try Self.refuseNewerVersion(pool, path)
            if try !pool.read(migrator.hasCompletedMigrations) { try migrator.migrate(pool) }
            inode = try directory.root.status(of: CacheLayout.index)?.st_ino
            database = pool
        } catch let error as CacheError {
            throw error
        } catch {
            throw CacheError(index: path, error)
        }
    }

    /// Opens an index whose directory cannot be written; `nil` where there is none.
    init?(readOnly directory: CacheDirectory) throws(CacheError) {
        path = directory.indexPath
        self.directory = directory
        inode = nil
        // `immutable`: no locks and no shared memory, neither of which a read-only medium has.
        // But beside a log it would pass over commits: somebody else is writing, or was killed.
        let log = try directory.root.status(of: CacheLayout.index + "-wal")
        uri = Self.uri(path, mode: log.map { $0.st_size > 0 } ?? false ? "mode=ro" : "immutable=1")
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
            database = queue
        } catch let error as CacheError {
            throw error
        } catch {
            throw CacheError(index: path, error)
        }
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
    func resource(_ key: String) throws(CacheError) -> Resource? {
        try lookUp { db in
            let statement = try db.cachedStatement(
                sql: """
                    SELECT \(Resource.columns) FROM resources r JOIN objects o ON o.id = r.object
                    WHERE r.key = ?
                    """)
            return try Row.fetchOne(statement, arguments: [key]).map(Resource.init)
        }
    }

    /// The object of a digest, if the index vouches for one.
    func object(_ digest: Digest) throws(CacheError) -> StoredObject? {
        try lookUp { db in
            let statement = try db.cachedStatement(
                sql: "SELECT \(StoredObject.columns) FROM objects o WHERE o.digest = ?")
            return try Row.fetchOne(statement, arguments: [digest.blob])
                .map { StoredObject(row: $0) }
        }
    }

    /// Every resource in the order of its key, one at a time.
    func forEachResource(_ body: (Resource) throws -> Void) throws {
        try database.read { db in
            let rows = try Row.fetchCursor(
                db,
                sql: """
                    SELECT \(Resource.columns) FROM resources r JOIN objects o ON o.id = r.object
                    ORDER BY r.key
                    """)
            while let row = try rows.next() { try body(Resource(row: row)) }
        }
    }

    /// Every object whose digest begins with `byte`.
    func objects(fanOut byte: UInt8) throws(CacheError) -> [StoredObject] {
        try read { db in
            try Row.fetchAll(
                db,
                sql: """
                    SELECT \(StoredObject.columns) FROM objects o
                    WHERE o.digest >= ? AND (? IS NULL OR o.digest < ?)
                    """,
                arguments: [
                    Data([byte]), byte == 255 ? nil : Data([byte + 1]),
                    byte == 255 ? nil : Data([byte + 1]),
                ]
            ).map { StoredObject(row: $0) }
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
                sql:
                    "SELECT count(*), coalesce(sum(size), 0), min(stored_at), max(stored_at) FROM objects"
            )
            let resources = try Row.fetchOne(
                db,
                sql: "SELECT count(*), coalesce(sum(fresh_until > ?), 0) FROM resources",
                arguments: [Date().timeIntervalSince1970])
            return IndexTotals(
                objects: objects?[0] ?? 0, bytes: objects?[1] ?? 0,
                resources: resources?[0] ?? 0, freshResources: resources?[1] ?? 0,
                oldest: (objects?[2] as Double?).map(Date.init(timeIntervalSince1970:)),
                newest: (objects?[3] as Double?).map(Date.init(timeIntervalSince1970:)))
        }
    }

    /// SQLite's own check of the file's structure; the complaints, none when it is sound.
    func structuralComplaints() throws(CacheError) -> [String] {
        try read { db in
            let lines = try String.fetchAll(db, sql: "PRAGMA integrity_check(20)")
            let dangling = try Row.fetchAll(db, sql: "PRAGMA foreign_key_check").count
            return lines.filter { $0 != "ok" }
                + (dangling == 0 ? [] : ["\(dangling) resources point at no object"])
        }
    }

    /// Writes a batch in one transaction: returns when it is durable.
    ///
    /// - Throws: ``CacheError``, also where the index was deleted meanwhile: what is written to it
    ///   then is nowhere.
    func write(_ body: (Database) throws -> Void) throws(CacheError) {
        do { try database.write(body) } catch { throw CacheError(index: path, error) }
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

    /// Reads with a single statement, which needs no transaction around it: a fifth of the time.
    private func lookUp<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do { return try database.unsafeRead(body) } catch { throw CacheError(index: path, error) }
    }

    private func read<Value>(_ body: (Database) throws -> Value) throws(CacheError) -> Value {
        do { return try database.read(body) } catch { throw CacheError(index: path, error) }
    }
}

extension Digest {
    var blob: Data { Data(bytes) }

    init(blob: Data) {
        self = Digest(bytes: blob) ?? Digest.zero
    }

    private static let zero = Digest(unchecked: (0, 0, 0, 0))
}
