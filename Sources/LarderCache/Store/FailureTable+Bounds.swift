import Foundation
import GRDB

/// What keeps the table of failures small: a server may answer 404 to whatever a manifest can name.
extension FailureTable {
    /// The most failures that are remembered, …
    static let rowLimit = 100_000
    /// … and the most bytes of their keys and URLs, …
    static let byteLimit = 16 << 20
    /// … for so long, in seconds: a month. Failures in the future are forgotten at the same
    /// distance.
    static let lifetime: TimeInterval = 30 * 86_400

    /// Forgets what is too old and, the oldest first, what is too much.
    ///
    /// - Parameter fraction: the part of what may be remembered that is left if there is too
    ///   much. Default: all of it.
    /// - Returns: how many are left, and their bytes.
    @discardableResult
    static func trim(
        _ db: Database, at instant: Date, to fraction: Double = 1
    ) throws -> (rows: Int, bytes: Int) {
        let bounds = try bounds(db, at: instant, to: fraction)
        let delete = try PreparedStatement(
            db, "DELETE FROM failures WHERE failed_at < ? OR failed_at > ?")
        try delete.run(bounds.first, bounds.last)
        return (bounds.rows, bounds.bytes)
    }

    /// The same a step at a time, beside others who write.
    ///
    /// - Returns: how many were forgotten.
    static func trim(_ index: CacheIndex, unless isCancelled: () -> Bool) throws(CacheError) -> Int
    {
        let instant = Date()
        let bounds: Bounds = try index.read { db in try Self.bounds(db, at: instant, to: 1) }
        guard bounds.isExceeded else { return 0 }
        var (forgotten, last) = (0, "")
        var isDone = false
        while !isDone, !isCancelled() {
            try index.writeStep { db in
                let deadline = ContinuousClock.now + WriteStep.time
                let next = try PreparedStatement(
                    db, "SELECT key, failed_at FROM failures WHERE key > ? ORDER BY key LIMIT 100")
                let delete = try PreparedStatement(db, "DELETE FROM failures WHERE key = ?")
                repeat {
                    let page = try next.rows(last) { ($0.text(0) ?? "", $0.double(1)) }
                    for (key, failedAt) in page
                    where failedAt < bounds.first || failedAt > bounds.last {
                        try delete.run(key)
                        forgotten += 1
                    }
                    last = page.last?.0 ?? last
                    isDone = page.isEmpty
                } while !isDone && ContinuousClock.now < deadline
            }
        }
        return forgotten
    }

    /// Who is remembered: those that failed between two instants.
    private struct Bounds {
        var first: Double
        var last: Double
        var rows = 0
        var bytes = 0
        var isExceeded = false
    }

    private static func bounds(
        _ db: Database, at instant: Date, to fraction: Double
    ) throws -> Bounds {
        let now = instant.timeIntervalSince1970
        // A clock that was not set knows no age.
        let lifetime = now < ObjectUse.earliest ? .infinity : lifetime
        var bounds = Bounds(first: now - lifetime, last: now + lifetime)
        let rows = try PreparedStatement(
            db,
            """
            SELECT failed_at, length(CAST(key AS BLOB)) + coalesce(length(CAST(url AS BLOB)), 0)
            FROM failures ORDER BY failed_at DESC
            """)
        defer { rows.reset() }
        try rows.bind()
        while try rows.step() {
            let (failedAt, bytes) = (rows.double(0), Int(rows.integer(1)))
            guard failedAt >= bounds.first, failedAt <= bounds.last,
                Double(bounds.rows + 1) <= fraction * Double(rowLimit),
                Double(bounds.bytes + bytes) <= fraction * Double(byteLimit)
            else {
                bounds.isExceeded = true
                // All that are older go, and those of the same instant.
                if failedAt <= bounds.last { bounds.first = max(bounds.first, failedAt.nextUp) }
                continue
            }
            bounds.rows += 1
            bounds.bytes += bytes
        }
        return bounds
    }
}
