import Foundation
import GRDB
import LarderCore

/// The times at which objects were last stored, confirmed, found fresh by a prefetch, or read.
package enum ObjectUse {
    /// The minimum time in seconds between an object's recorded uses, to avoid frequent writes.
    package static let precision: TimeInterval = 3_600
    package static let stepLimit = 2_000
    /// The beginning of 2020, in seconds since 1970. Earlier times are from an unset clock.
    static let earliest: TimeInterval = 1_577_836_800

    package static func isDue(_ last: Date, at instant: Date = Date()) -> Bool {
        instant.timeIntervalSince(last) >= precision
    }

    package static func isDue(at instant: Date) -> String {
        "\(instant.timeIntervalSince1970) - o.used_at >= \(precision)"
    }

    static func record(_ objects: [Digest], at instant: Date, in db: Database) throws {
        let update = try db.prepared(
            "UPDATE objects SET used_at = ?1 WHERE digest = ?2 AND ?1 - used_at >= \(precision)")
        for object in objects { try update.run(instant.timeIntervalSince1970, object) }
    }

    /// Records uses. Finds rows by number, which is faster. Skips rows that now have other digests.
    static func record(_ objects: [IndexedObject], at instant: Date, in db: Database) throws {
        let update = try db.prepared(
            """
            UPDATE objects SET used_at = ?1
            WHERE id = ?2 AND +digest = ?3 AND ?1 - used_at >= \(precision)
            """)
        let time = instant.timeIntervalSince1970
        for object in objects { try update.run(time, object.row, object.digest) }
    }

    /// Replaces times before ``earliest`` and future times with the current time. If most times are
    /// in the future, the clock may be wrong, so future times are kept for seven days.
    static func settle(in index: CacheIndex) throws(CacheError) {
        let now = Date().timeIntervalSince1970
        guard now >= earliest else { return }
        let limit = now + Freshness.clockSkew
        // `notedDay` is the day since which most times have been in the future, or 0.
        var (before, toCome, all, notedDay): (Int64, Int64, Int64, Int64) = (0, 0, 0, 0)
        try index.lookUp { db in
            try db.prepared(
                """
                SELECT coalesce(sum(min(used_at, stored_at) < ?), 0),
                    coalesce(sum(max(used_at, stored_at) > ?), 0), count(id),
                    (SELECT user_version FROM pragma_user_version)
                FROM objects
                """
            ).forEach(earliest, limit) { row in
                (before, toCome) = (row.integer(), row.integer())
                (all, notedDay) = (row.integer(), row.integer())
            }
        }
        let today = Int64(now / 86_400)
        let since = (1...today).contains(notedDay) ? notedDay : today
        let settlesToCome = 2 * toCome <= all || today - since >= 7
        let doubtfulSince = settlesToCome ? 0 : since
        if doubtfulSince != notedDay {
            try index.writeStep { try $0.execute(sql: "PRAGMA user_version = \(doubtfulSince)") }
        }
        let last = settlesToCome ? limit : .greatestFiniteMagnitude
        guard before > 0 || settlesToCome && toCome > 0 else { return }
        var isDone = false
        while !isDone {
            try index.writeStep { db in
                let update = try db.prepared(
                    """
                    UPDATE objects SET
                        used_at = iif(used_at BETWEEN ?1 AND ?3, used_at, ?2),
                        stored_at = iif(stored_at BETWEEN ?1 AND ?3, stored_at, ?2)
                    WHERE id IN (
                        SELECT id FROM objects
                        WHERE min(used_at, stored_at) < ?1 OR max(used_at, stored_at) > ?3
                        LIMIT \(WriteStep.rowLimit))
                    """)
                try update.run(earliest, now, last)
                isDone = db.changesCount == 0
            }
        }
    }
}
