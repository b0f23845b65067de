import Foundation
import GRDB
import LarderCache
import LarderCore
import Synchronization

/// What is known of a remote's objects while it is gone through: a temporary database, so that any
/// number of them needs no more memory than a few.
final class RemoteScratch: Sendable {
    private let database: DatabaseQueue

    init() throws {
        database = try Cache.scratchDatabase(at: nil, beside: nil)
        try database.writeWithoutTransaction { db in
            try db.execute(
                sql: """
                    PRAGMA main.cache_size = -2048;
                    CREATE TABLE objects (digest BLOB PRIMARY KEY, size INTEGER NOT NULL,
                        state INTEGER NOT NULL) WITHOUT ROWID;
                    CREATE TABLE names (digest BLOB NOT NULL, key TEXT NOT NULL,
                        PRIMARY KEY (digest, key)) WITHOUT ROWID;
                    """)
        }
    }

    /// What is thought of an object.
    enum State: Int {
        /// Nothing refers to it, as far as is known.
        case unreferenced = 0
        case referenced = 1
        /// Its bytes are others than its name says.
        case corrupt = 2
        /// References lead to it, and it is not there.
        case missing = 3
        /// It was removed by this run.
        case removed = 4
        /// The store cannot read it.
        case unreadable = 5
    }

    func add(_ objects: [(digest: Digest, size: Int64, state: State)]) throws {
        try database.write { db in
            let insert = try PreparedStatement(db, "INSERT OR IGNORE INTO objects VALUES (?, ?, ?)")
            for object in objects {
                try insert.run(object.digest, object.size, Int64(object.state.rawValue))
            }
        }
    }

    func set(_ state: State, of digest: Digest) throws {
        try database.write { db in
            try PreparedStatement(db, "UPDATE objects SET state = ? WHERE digest = ?")
                .run(Int64(state.rawValue), digest)
        }
    }

    /// Objects that something refers to: those of them that nothing did become referenced.
    ///
    /// - Returns: what is thought of each; nil if it is not known.
    func refer(to digests: [Digest]) throws -> [State?] {
        try database.write { db in
            let select = try PreparedStatement(db, "SELECT state FROM objects WHERE digest = ?")
            let update = try PreparedStatement(
                db, "UPDATE objects SET state = 1 WHERE digest = ? AND state = 0")
            return try digests.map { digest in
                let state = try select.firstInteger(digest).flatMap { State(rawValue: Int($0)) }
                if state == .unreferenced { try update.run(digest) }
                return state
            }
        }
    }

    /// The next objects of a state, in the order of their digests.
    func objects(
        _ state: State, after last: Digest?, limit: Int = 256
    ) throws -> [(digest: Digest, size: Int64)] {
        try database.read { db in
            try PreparedStatement(
                db,
                """
                SELECT digest, size FROM objects WHERE digest > ? AND state = ?
                ORDER BY digest LIMIT ?
                """
            ).rows(Data(last?.bytes ?? []), Int64(state.rawValue), limit) {
                (try $0.requireDigest(), $0.integer())
            }
        }
    }

    func count(_ state: State) throws -> Int {
        try database.read { db in
            let count = try PreparedStatement(db, "SELECT count(*) FROM objects WHERE state = ?")
                .firstInteger(Int64(state.rawValue))
            return Int(count ?? 0)
        }
    }

    /// Keeps the name of a reference to an object.
    func note(_ key: String, to digest: Digest) throws {
        try database.write { db in
            try PreparedStatement(db, "INSERT OR IGNORE INTO names VALUES (?, ?)")
                .run(digest, key)
        }
    }

    /// The names of the references to an object that were kept.
    func names(to digest: Digest) throws -> [String] {
        try database.read { db in
            try PreparedStatement(db, "SELECT key FROM names WHERE digest = ?")
                .rows(digest) { try $0.requireText() }
        }
    }
}

/// The names that are looked for in one part, page by page, and what was found of them.
final class WantedNames: Sendable {
    private static let pageLimit = 1024

    private let part: UInt8
    private let plan: Plan
    private let state = Mutex(State())

    private struct State {
        var page: ArraySlice<Digest> = []
        var last: Digest?
        var isAtEnd = false
        var found: [(name: Digest, known: RemoteStore.Known)] = []
    }

    init(in part: UInt8, of plan: Plan) {
        self.part = part
        self.plan = plan
    }

    /// The next name, in ascending order.
    func next() throws -> Digest? {
        try state.withLock { state in
            if state.page.isEmpty, !state.isAtEnd {
                state.page = try plan.wantedNames(
                    in: part, after: state.last, limit: Self.pageLimit)[...]
                state.last = state.page.last
                state.isAtEnd = state.page.isEmpty
            }
            return state.page.popFirst()
        }
    }

    func note(_ name: Digest, _ known: RemoteStore.Known) throws {
        let page = state.withLock { state in
            state.found.append((name, known))
            guard state.found.count >= Self.pageLimit else { return state.found.prefix(0) }
            defer { state.found = [] }
            return state.found[...]
        }
        try plan.note(found: Array(page), in: part)
    }

    func finish() throws {
        try plan.note(found: state.withLock { $0.found }, in: part)
    }
}
