import Foundation
import GRDB

/// When objects were last used: stored, confirmed by their origin, found fresh by a prefetch, or read.
public enum ObjectUse {
    /// A use is recorded only where the recorded one is older than this, in seconds: a run that finds
    /// everything fresh once more writes nothing.
    public static let precision: TimeInterval = 3_600

    /// Uses are recorded so many at a time, between which other writers get their turn.
    public static let stepLimit = 2_000

    /// Whether a use at `instant` of an object that was used at `last` is to be recorded. One of a
    /// time to come is of a clock that was set back, and would shield the object until then.
    public static func isDue(_ last: Date, at instant: Date = Date()) -> Bool {
        abs(instant.timeIntervalSince(last)) >= precision
    }

    /// The same of a row of `objects o`, as an SQL condition.
    package static func isDue(at instant: Date) -> String {
        "abs(o.used_at - \(instant.timeIntervalSince1970)) >= \(precision)"
    }

    /// Records uses where they are due; nothing where the object is gone.
    static func record(
        _ objects: some Sequence<Digest>, at instant: Date, in db: Database
    ) throws {
        let update = try PreparedStatement(
            db,
            """
            UPDATE objects SET used_at = ?1 WHERE digest = ?2 AND abs(used_at - ?1) >= \(precision)
            """)
        for digest in objects { try update.run(instant.timeIntervalSince1970, digest) }
    }

    /// Records uses where they are due; nothing where the row is gone, or another object's by now.
    static func record(
        _ objects: some Sequence<IndexedObject>, at instant: Date, in db: Database
    ) throws {
        let update = try PreparedStatement(
            db,
            """
            UPDATE objects SET used_at = ?1
            WHERE id = ?2 AND +digest = ?3 AND abs(used_at - ?1) >= \(precision)
            """)
        for object in objects {
            try update.run(instant.timeIntervalSince1970, object.row, object.digest)
        }
    }

    /// Takes what is recorded for a time to come, by a clock that has been set back since, as of now: the
    /// objects age from now on, instead of being young until then. Unless that is so of most objects: then
    /// it is the clock that is wrong, not they.
    static func settleTimesToCome(in index: CacheIndex) throws(CacheError) {
        let now = Date().timeIntervalSince1970
        let limit = now + Freshness.clockSkew
        guard let count = try index.objectsOfTimesToCome(after: limit), count.some > 0,
            2 * count.some <= count.all
        else { return }
        var isDone = false
        while !isDone {
            try index.writeStep { db in
                let update = try db.cachedStatement(
                    sql: """
                        UPDATE objects SET used_at = min(used_at, ?1), stored_at = min(stored_at, ?1)
                        WHERE id IN (
                            SELECT id FROM objects WHERE max(used_at, stored_at) > ?2
                            LIMIT \(Evictor.batchLimit))
                        """)
                try update.execute(arguments: [now, limit])
                isDone = db.changesCount == 0
            }
        }
    }
}
