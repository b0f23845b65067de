import CLarderSystem
import GRDB
import GRDBSQLite

/// A temporary database to which an index is attached as `cache`.
enum ScratchDatabase {
    static func open(at path: String?, joining index: CacheIndex?) throws -> DatabaseQueue {
        var configuration = Configuration()
        // The paths are valid only while the root is open.
        let root = index?.directory.root
        let isFrozen = index?.isFrozen ?? false
        configuration.prepareDatabase { [weak directory = index?.directory] db in
            withExtendedLifetime(root) {}
            // The journal must be turned off first, because a hardened connection cannot do this.
            try db.execute(sql: "PRAGMA main.journal_mode = OFF; PRAGMA main.synchronous = OFF")
            try db.execute(sql: "PRAGMA main.locking_mode = EXCLUSIVE")
            if isFrozen {
                try db.execute(sql: "PRAGMA locking_mode = EXCLUSIVE")
                larder_sqlite_configure(db.sqliteConnection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)
            }
            try DatabaseFile.harden(db, for: CacheLayout.index, in: directory)
        }
        let database = try DatabaseQueue(
            path: path.map { DatabaseFile.uri($0, .making) } ?? "", configuration: configuration)
        if let index {
            try database.writeWithoutTransaction {
                try $0.execute(sql: "ATTACH DATABASE ? AS cache", arguments: [index.uri])
            }
        }
        return database
    }
}
