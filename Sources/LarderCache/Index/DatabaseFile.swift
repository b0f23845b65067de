import CLarderSystem
import Foundation
import GRDB
import GRDBSQLite
import LarderCore

/// An untrusted database file, which may come from another user.
struct DatabaseFile: Sendable {
    enum Access {
        case writing
        case making
        /// Creates a copy, which SQLite may write with a journal.
        case copying
        case reading
        /// Reads without locks, a log or shared memory, for a read-only medium. Creates no files.
        case alone
        /// Reads with the log. Creates no files. Fails if another process has the database open.
        case withLog
        /// Reads with the log but without locks and shared memory. Creates no files.
        case frozen

        fileprivate var parameters: String {
            switch self {
            case .writing, .making: "mode=rwc&vfs=\(ConfinedFileSystem.name)"
            case .copying: "mode=rwc&vfs=\(ConfinedFileSystem.draftName)"
            case .reading: "mode=ro&vfs=\(ConfinedFileSystem.name)"
            case .alone: "immutable=1&vfs=\(ConfinedFileSystem.name)"
            case .withLog: "mode=rw&vfs=\(ConfinedFileSystem.name)"
            case .frozen: "mode=ro&vfs=\(ConfinedFileSystem.frozenName)"
            }
        }
    }

    let directory: CacheDirectory
    let name: String

    init(_ name: String, of run: RunDirectory? = nil, in directory: CacheDirectory) {
        self.name = run.map { CacheLayout.run($0.name, name) } ?? name
        self.directory = directory
    }

    var path: String { "\(directory.path)/\(name)" }
    private var place: String { "\(directory.databases)/\(name)" }
    func uri(_ access: Access) -> String { Self.uri(place, access) }

    func failure(_ error: any Error) -> CacheError {
        error as? CacheError ?? directory.judged(CacheError(index: path, error))
    }

    func open(
        _ access: Access, _ configuration: Configuration = Configuration()
    ) throws -> DatabaseQueue {
        var configuration = configuration
        configuration.readonly = [.reading, .alone, .frozen].contains(access)
        // MAX_PATHNAME of os_unix.c is 512 bytes.
        guard place.utf8.count <= 500 else {
            throw CacheError(
                unusable: path, "the path is too long for SQLite; move the cache to a shorter path")
        }
        if access == .writing || access == .making { make() }
        // Weak, because connections close late and must not keep the directory locked. The root is
        // kept, because the path is valid only while it is open.
        configuration.prepareDatabase { [weak directory, name, root = directory.root] db in
            guard let directory else { return }
            try CacheRoot.confirm(root, isAt: directory.path)
            try Self.harden(db, for: name, in: directory)
            if access == .making { try db.execute(sql: "PRAGMA journal_mode = MEMORY") }
            if access == .withLog || access == .frozen { try Self.takeExclusively(db) }
        }
        return try DatabaseQueue(path: uri(access), configuration: configuration)
    }

    /// Takes exclusive access, which needs no shared memory. Closing does not checkpoint the log.
    private static func takeExclusively(_ db: Database) throws {
        try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
        larder_sqlite_configure(db.sqliteConnection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
    }

    static func openScratch(at path: String?, joining index: CacheIndex?) throws -> DatabaseQueue {
        var configuration = Configuration()
        // The paths are valid only while the root is open.
        let root = index?.directory.root
        let isFrozen = index?.isFrozen ?? false
        configuration.prepareDatabase { [weak directory = index?.directory] db in
            withExtendedLifetime(root) {}
            // The journal must be turned off first, because a hardened connection cannot do this.
            try db.execute(sql: "PRAGMA main.journal_mode = OFF; PRAGMA main.synchronous = OFF")
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
            if isFrozen { try Self.takeExclusively(db) }
            try Self.harden(db, for: CacheLayout.index, in: directory)
        }
        let database = try DatabaseQueue(
            path: path.map { Self.uri($0, .making) } ?? "", configuration: configuration)
        if let index {
            try database.writeWithoutTransaction {
                try $0.execute(sql: "ATTACH DATABASE ? AS cache", arguments: [index.uri])
            }
        }
        return database
    }

    /// Creates the file, because SQLite would apply the umask to its mode.
    func make() { _ = try? directory.root.create(name) }

    /// Whether SQLite can write the file's format. Copies keep it (sqlite.org/fileformat2.html).
    func hasWrittenFormat() throws -> Bool {
        let header = try directory.root.file(name).read(atMost: 19)
        return header.count == 19 && header[18] <= 2
    }

    /// The size of the file and its log in bytes, limited by their allocated blocks, because sparse
    /// files can have any size.
    var byteCount: Int64 {
        [name, name + "-wal"].reduce(0) { sum, name in
            guard let status = (try? directory.root.status(of: name)) ?? nil else { return sum }
            return sum + min(Int64(status.st_size), status.plausibleBytes)
        }
    }

    private static func uri(_ path: String, _ access: Access) -> String {
        _ = ConfinedFileSystem.registration
        let path = path.utf8.percentEncoded { URLBytes.path[Int($0)] }
        return "file:\(path)?\(access.parameters)"
    }

    /// Configures a connection for untrusted files, as sqlite.org/security.html recommends.
    static func harden(_ db: Database, for name: String, in directory: CacheDirectory?) throws {
        guard let connection = db.sqliteConnection else { return }
        for (option, value) in [
            (SQLITE_DBCONFIG_DEFENSIVE, 1), (SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0),
            (SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0), (SQLITE_DBCONFIG_ENABLE_TRIGGER, 0),
            (SQLITE_DBCONFIG_ENABLE_VIEW, 0),
        ] as [(CInt, CInt)] { larder_sqlite_configure(connection, option, value) }
        sqlite3_limit(connection, SQLITE_LIMIT_LENGTH, 64 << 20)
        sqlite3_limit(connection, SQLITE_LIMIT_SQL_LENGTH, 256 << 10)
        StepLimit.install(on: connection) { [weak directory] in
            directory.map { DatabaseFile(name, in: $0).byteCount } ?? 0
        }
        try db.execute(sql: "PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
    }
}
