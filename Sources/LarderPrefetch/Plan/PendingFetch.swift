import GRDB
import LarderCache

/// A fetch of the plan that was not reported yet, as it is found by its resource's key.
struct PendingFetch {
    let id: Int64
    let origin: Int
    /// As the plan has it, whatever became of it.
    let place: PlannedFetch.Place
}

extension Plan {
    /// The fetch of a resource; nil if nothing is to be fetched for it, or that was reported.
    ///
    /// What is pending was written in the order of keys, so a search by halves finds one of a
    /// million with a few dozen look-ups, and nobody has to make an index for it.
    func pendingFetch(ofKey key: [UInt8]) throws -> PendingFetch? {
        let key = String(decoding: key, as: UTF8.self)
        return try database.unsafeRead { db in
            let rows = try PreparedStatement(
                db,
                """
                SELECT p.rowid, (f.key > ?2) - (f.key < ?2), p.fetch, p.origin, p.turn
                FROM pending p CROSS JOIN entries f ON f.id = p.fetch
                WHERE p.rowid >= ?1 ORDER BY p.rowid LIMIT 1
                """)
            defer { rows.reset() }
            var low: Int64 = 1
            var high =
                try PreparedStatement(db, "SELECT max(rowid) FROM pending").firstInteger() ?? 0
            while low <= high {
                let middle = low + (high - low) / 2
                try rows.bind(middle, key)
                // Those that were reported are gone.
                guard try rows.step(), rows.integer(PendingColumn.row) <= high else {
                    high = middle - 1
                    continue
                }
                switch rows.integer(PendingColumn.order) {
                case ..<0: low = rows.integer(PendingColumn.row) + 1
                case 1...: high = middle - 1
                default: return PendingFetch(rows)
                }
            }
            return nil
        }
    }
}

private enum PendingColumn {
    static let row: CInt = 0
    static let order: CInt = 1
    static let fetch: CInt = 2
    static let origin: CInt = 3
    static let turn: CInt = 4
}

extension PendingFetch {
    fileprivate init(_ row: PreparedStatement) {
        id = row.integer(PendingColumn.fetch)
        origin = Int(row.integer(PendingColumn.origin))
        place = PlannedFetch.Place(turn: Int(row.integer(PendingColumn.turn)), fetch: id)
    }
}
