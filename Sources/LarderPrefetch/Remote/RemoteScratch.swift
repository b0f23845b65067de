import Foundation
import GRDB
import LarderCache
import LarderCore

/// The objects of a remote in a temporary database, to limit memory.
final class RemoteScratch: Sendable {
    private let database: DatabaseQueue

    init() throws {
        database = try .scratch(
            """
            CREATE TABLE objects (digest BLOB PRIMARY KEY, size INTEGER NOT NULL,
                state INTEGER NOT NULL) WITHOUT ROWID;
            CREATE TABLE names (digest BLOB NOT NULL, key TEXT NOT NULL,
                PRIMARY KEY (digest, key)) WITHOUT ROWID;
            """)
    }

    /// SQL statements contain the raw values of the first two cases.
    enum State: Int64 { case unreferenced, referenced, corrupt, missing, removed, unreadable }

    func add(_ objects: [(digest: Digest, size: Int64, state: State)]) throws {
        try database.write { db in
            let insert = try db.prepared("INSERT OR IGNORE INTO objects VALUES (?, ?, ?)")
            for (digest, size, state) in objects { try insert.run(digest, size, state.rawValue) }
        }
    }

    func set(_ state: State, of digest: Digest) throws {
        let update = "UPDATE objects SET state = ? WHERE digest = ?"
        try database.write { try $0.prepared(update).run(state.rawValue, digest) }
    }

    func refer(to digests: [Digest]) throws -> [State?] {
        try database.write { db in
            let select = try db.prepared("SELECT state FROM objects WHERE digest = ?")
            let update = try db.prepared(
                "UPDATE objects SET state = 1 WHERE digest = ? AND state = 0")
            return try digests.map { digest in
                let state = try select.firstInteger(digest).flatMap { State(rawValue: $0) }
                if state == .unreferenced { try update.run(digest) }
                return state
            }
        }
    }

    func objects(_ state: State) -> Pages<(digest: Digest, size: Int64)> {
        let select = """
            SELECT digest, size FROM objects WHERE digest > ? AND state = ?
            ORDER BY digest LIMIT 256
            """
        return Pages { [database] last in
            try database.read { db in
                try db.prepared(select).rows(Data(last?.digest.bytes ?? []), state.rawValue) {
                    (digest: try $0.requireDigest(), size: $0.integer())
                }
            }
        }
    }

    func count(_ state: State) throws -> Int {
        let select = "SELECT count(*) FROM objects WHERE state = ?"
        let count = try database.read { try $0.prepared(select).firstInteger(state.rawValue) }
        return Int(count ?? 0)
    }

    func note(_ key: String, to digest: Digest) throws {
        let insert = "INSERT OR IGNORE INTO names VALUES (?, ?)"
        try database.write { try $0.prepared(insert).run(digest, key) }
    }

    func names(to digest: Digest) throws -> [String] {
        let select = "SELECT key FROM names WHERE digest = ?"
        return try database.read { try $0.prepared(select).rows(digest) { try $0.requireText() } }
    }
}
