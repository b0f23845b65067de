import Foundation
import GRDB
import LarderCore

/// Who goes, in which order: a temporary database beside the index, so that a million objects need
/// no more memory than ten.
final class EvictionPlan {
    typealias Reason = EvictionReport.Reason
    typealias Hold = EvictionReport.Hold

    /// One object that is to go, as the index had it when that was decided.
    struct Victim {
        let rank: Int64
        let object: Int64
        let digest: Digest
        let size: Int64
        let usedAt: Double
        /// Bytes on disk that are free once it is gone; 0 if nobody asked for room.
        let room: Int64
        let reason: Reason
        let age: Double

        fileprivate static let columns = "reason, rank, object, digest, size, used_at, room, age"

        fileprivate init?(_ row: inout RowReader) throws {
            guard let reason = row.text().flatMap(Reason.init) else { return nil }
            rank = row.integer()
            object = row.integer()
            digest = try row.requireDigest()
            size = row.integer()
            usedAt = row.double()
            room = row.integer()
            self.reason = reason
            age = row.double()
        }

        var reported: EvictionReport.Victim {
            .init(digest: digest, size: size, reason: reason, age: age)
        }
    }

    /// What was decided about all objects.
    struct Decision {
        /// Every object that there is.
        var all = ObjectTally()
        var left = ObjectTally()
        var held: [Hold: ObjectTally] = [:]
        var missed: [Reason] = []
    }

    private let policy: EvictionPolicy
    private let fanOuts: FanOuts
    private let database: DatabaseQueue

    /// Reads the policy's manifests, whole.
    ///
    /// - Parameters:
    ///   - path: where the temporary database is to be; nil leaves the place to SQLite.
    ///   - directory: where the objects lie.
    /// - Throws: what the policy's keys throw, ``CacheError``.
    init(
        _ policy: EvictionPolicy, index: CacheIndex, at path: String?, in directory: CacheDirectory
    ) throws {
        self.policy = policy
        fanOuts = FanOuts(directory)
        database = try ScratchDatabase.open(at: path, joining: index)
        try database.writeWithoutTransaction { db in
            try db.execute(sql: Self.tables)
            for (table, keys) in [("kept_keys", policy.keep), ("only_keys", policy.only)] {
                guard let keys else { continue }
                try db.inTransaction {
                    let insert = try PreparedStatement(
                        db, "INSERT OR IGNORE INTO \(table) VALUES (?)")
                    try keys { try insert.run($0) }
                    return .commit
                }
            }
            guard try index.listFormerKeys(in: db) else { return }
            for table in ["kept_keys", "only_keys"] {
                try db.execute(
                    sql: """
                        INSERT OR IGNORE INTO \(table)
                        SELECT f.former FROM \(table) k JOIN former_keys f ON f.key = k.key
                        """)
            }
        }
    }

    private static let tables = """
        CREATE TABLE main.kept_keys (key TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE main.only_keys (key TEXT PRIMARY KEY NOT NULL) WITHOUT ROWID;
        CREATE TABLE main.held (object INTEGER PRIMARY KEY, hold TEXT NOT NULL);
        CREATE TABLE main.wanted (object INTEGER PRIMARY KEY);  -- the only ones to stay
        CREATE TABLE main.victims (
            rank INTEGER PRIMARY KEY,
            object INTEGER NOT NULL,
            digest BLOB NOT NULL,
            size INTEGER NOT NULL,
            used_at REAL NOT NULL,
            room INTEGER NOT NULL,
            reason TEXT NOT NULL,
            age REAL NOT NULL
        );
        """

    /// Decides about every object that the index has now; forgets what was decided before.
    ///
    /// - Parameters:
    ///   - instant: when ages are as they are.
    ///   - runStart: what was used since then stays: a run that began then may be under way.
    ///     Everything stays where it is `distantPast`.
    ///   - free: bytes that are free on the disk.
    /// - Throws: `CancellationError`, ``CacheError``.
    func decide(at instant: Date, runStart: Date, free: Int64) throws -> Decision {
        try database.writeWithoutTransaction { db in
            // What all rows went through is of no use to those who go, and has a place beside it.
            defer { db.releaseMemory() }
            var decision = Decision()
            try db.inTransaction(.deferred) {
                try db.execute(sql: "DELETE FROM held; DELETE FROM wanted; DELETE FROM victims")
                try hold(db)
                var excess = try excess(free: free, db)
                decision.all = excess.left
                // As it would be if nothing were held: who is held and would have gone then is
                // kept.
                var wish = excess
                // What must go whatever the limits comes first, and may already meet them. Then
                // what alone exceeds the size: no other object makes room for it.
                for pass in Pass.allCases where pass == .mandates || excess.isAny {
                    let size = pass == .mandates ? nil : policy.maximumBytes
                    guard pass != .tooLarge || size != nil else { continue }
                    try forEachObject(db, at: instant, pass, size: size) { object in
                        if policy.isCancelled() { throw CancellationError() }
                        let age = age(of: object, at: instant)
                        let mandate = mandate(for: object, of: age)
                        guard (pass == .mandates) == (mandate != nil),
                            mandate != nil || excess.isAny
                        else { return }
                        let room = try room(of: object)
                        func isUseful(_ reason: Reason) -> Bool { reason != .free || room > 0 }
                        let isWished = mandate != nil || wish.reason.map(isUseful) == true
                        if isWished { wish.take(object.size, freeing: room) }
                        if let hold = object.hold ?? runHold(on: object, since: runStart, instant) {
                            guard isWished else { return }
                            decision.held[hold, default: .init()].add(object.size)
                        } else if let reason = mandate ?? excess.reason, isUseful(reason) {
                            try add(object, reason, age: age ?? 0, room: room, db)
                            excess.take(object.size, freeing: room)
                        }
                    }
                }
                decision.left = excess.left
                decision.missed = excess.missed
                return .commit
            }
            return decision
        }
    }

    /// The next objects that are to go.
    func victims(after rank: Int64, limit: Int) throws -> [Victim] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                "SELECT \(Victim.columns) FROM victims WHERE rank > ? ORDER BY rank LIMIT ?"
            ).rows(rank, limit, as: Victim.init).compactMap(\.self)
        }
    }

    /// The same as a report has it, with the names that it has in the index now.
    func named(_ victim: Victim) throws -> EvictionReport.Victim {
        var reported = victim.reported
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT key, coalesce(url, key),
                    (SELECT count(id) FROM cache.resources WHERE object = ?1)
                FROM cache.resources WHERE object = ?1 ORDER BY id LIMIT 1
                """
            ).forEach(victim.object) { row in
                reported.first = .init(key: try row.requireText(), url: try row.requireText())
                reported.resources = Int(row.integer())
            }
        }
        return reported
    }

    /// The keys of damaged resources that the policy lets go, after `key`: those that are too old,
    /// or not among the only ones to stay. Their objects are gone already.
    func damagedKeys(after key: String, at instant: Date, limit: Int) throws -> [String] {
        try database.unsafeRead { db in
            try PreparedStatement(
                db,
                """
                SELECT d.key FROM cache.damaged d
                WHERE d.key > ?1
                    AND (d.found_at <= ?2 OR ?3 AND NOT EXISTS
                        (SELECT 1 FROM only_keys k WHERE k.key = d.key))
                    AND NOT EXISTS (SELECT 1 FROM kept_keys k WHERE k.key = d.key)
                    AND NOT EXISTS (SELECT 1 FROM cache.pins p WHERE p.key = d.key)
                ORDER BY d.key LIMIT ?4
                """
            ).rows(
                key, policy.maximumAge.map { instant.timeIntervalSince1970 - $0 },
                policy.only == nil ? 0 : 1, limit
            ) { try $0.requireText() }
        }
    }

    /// Lets go of the index: the last connection to leave it folds its log into it, and this one
    /// cannot.
    func close() throws { try database.close() }

    // MARK: -

    private struct Object {
        let id: Int64
        let digest: Digest
        let size: Int64
        let usedAt: Double
        let storedAt: Double
        let hold: Hold?
        let isWanted: Bool

        static let columns =
            "o.id, o.digest, o.size, o.used_at, o.stored_at, h.hold, w.object IS NOT NULL"

        init(_ row: inout RowReader) throws {
            id = row.integer()
            digest = try row.requireDigest()
            size = try row.requireInteger(in: 0...StoredObject.largest)
            usedAt = try row.requireTime()
            storedAt = try row.requireTime()
            hold = row.text().flatMap(Hold.init)
            isWanted = row.bool()
        }
    }

    private func hold(_ db: Database) throws {
        // Cross joins, which SQLite does not turn round: the names look for their resources. A
        // manifest's word is told before a pin's.
        for (table, hold) in [("main.kept_keys", Hold.manifest), ("cache.pins", .pin)] {
            try db.execute(
                sql: """
                    INSERT OR IGNORE INTO held
                    SELECT r.object, ? FROM \(table) k CROSS JOIN cache.resources r ON r.key = k.key
                    """, arguments: [hold.rawValue])
        }
        try db.execute(
            sql: """
                INSERT OR IGNORE INTO wanted
                SELECT r.object FROM only_keys k CROSS JOIN cache.resources r ON r.key = k.key
                """)
    }

    /// The objects are gone through several times, each time for the objects of one kind.
    private enum Pass: CaseIterable {
        /// Objects that must go whatever the limits are.
        case mandates
        /// Of the others, those that alone exceed the maximum size.
        case tooLarge
        /// All others.
        case rest
    }

    private func excess(free: Int64, _ db: Database) throws -> EvictionExcess {
        EvictionExcess(policy, left: try .init(db, "cache.objects"), free: free)
    }

    /// In the order in which they go. What no clock that was right has recorded is as of now.
    ///
    /// - Parameter size: What objects are compared with that may be too large; nil: with nothing.
    private func forEachObject(
        _ db: Database, at instant: Date, _ pass: Pass, size: Int64?,
        _ body: (Object) throws -> Void
    ) throws {
        let age = policy.age == .used ? "used_at" : "stored_at"
        let condition = size.map { "WHERE o.size \(pass == .tooLarge ? ">" : "<=") \($0)" } ?? ""
        try PreparedStatement(
            db,
            """
            SELECT \(Object.columns)
            FROM cache.objects o LEFT JOIN main.held h ON h.object = o.id
                LEFT JOIN main.wanted w ON w.object = o.id
            \(condition)
            ORDER BY iif(o.\(age) < ?, ?, o.\(age)), o.digest
            """
        ).forEach(ObjectUse.earliest, instant.timeIntervalSince1970) { try body(Object(&$0)) }
    }

    /// How old an object is, in seconds; nil if no clock that was right has recorded it.
    private func age(of object: Object, at instant: Date) -> Double? {
        let since = policy.age == .used ? object.usedAt : object.storedAt
        return since >= ObjectUse.earliest ? instant.timeIntervalSince1970 - since : nil
    }

    /// Why an object must go whatever the limits; nil if nothing says so.
    private func mandate(for object: Object, of age: Double?) -> Reason? {
        if policy.only != nil, !object.isWanted { return .only }
        guard let limit = policy.maximumAge, let age else { return nil }
        return age >= limit ? .age : nil
    }

    /// A use in the future may be that of a run that is under way, too: by a clock that is behind
    /// it, none takes its place.
    private func runHold(on object: Object, since start: Date, _ instant: Date) -> Hold? {
        let end =
            start < instant ? .infinity : instant.timeIntervalSince1970 + Freshness.clockSkew
        return object.usedAt >= start.timeIntervalSince1970 && object.usedAt <= end ? .run : nil
    }

    /// What taking an object frees. A file that has another name (a hard link) frees nothing, and
    /// none is taken for the sake of room alone that does not make any.
    private func room(of object: Object) throws -> Int64 {
        guard policy.minimumFree != nil else { return 0 }
        do throws(CacheError) {
            return try fanOuts.room(of: object.digest)
        } catch  where error.errno == EACCES {
            return 0
        }
    }

    private func add(
        _ object: Object, _ reason: Reason, age: Double, room: Int64, _ db: Database
    ) throws {
        try PreparedStatement(
            db,
            """
            INSERT INTO victims (object, digest, size, used_at, room, reason, age)
            VALUES (?, ?, ?, ?, ?, ?, ?)
            """
        ).run(
            object.id, object.digest, object.size, object.usedAt, room, reason.rawValue,
            max(0, age))
    }
}
