import BitCollections
import GRDB
import LarderCache
import LarderCore
import Synchronization

extension Plan {
    /// Fills the table `pending`. Called only if needed, as a million rows take half a second.
    private func list(by order: String) throws {
        try database.write { db in
            // Unlike -priority, ~priority cannot overflow.
            try db.execute(
                sql: """
                    DROP TABLE IF EXISTS main.pending;
                    CREATE TABLE main.pending (
                        fetch INTEGER NOT NULL, origin INTEGER NOT NULL, turn INTEGER NOT NULL);
                    """)
            let insert = try db.prepared(
                "INSERT INTO pending SELECT id, origin, ~priority FROM entries WHERE id = ?")
            var last: Int64 = 0
            while case let page = pendingFetches(after: last), let end = page.last {
                for fetch in page { try insert.run { $0.bind(fetch) } }
                last = end
            }
            try db.execute(sql: "CREATE INDEX main.pending_in_order ON pending (\(order))")
        }
    }

    func orderFetches() throws -> [(origin: Int, urls: Int)] {
        let (areInOrder, count) = pending.withLock { ($0.areInOrder, $0.count) }
        guard count > 0 else { return [] }
        if areInOrder { return [(origin: 0, urls: count)] }
        try list(by: "origin, turn, fetch")
        let select = """
            SELECT origin, count(*) FROM pending p GROUP BY origin
            ORDER BY min(turn), (
                SELECT first.fetch FROM pending first WHERE first.origin = p.origin
                ORDER BY first.turn, first.fetch LIMIT 1)
            """
        return try read(select) { try $0.rows { (Int($0.integer()), Int($0.integer())) } }
    }

    /// Returns the next pending resources. Stale ones have `known`. Must follow ``orderFetches()``.
    func fetches(
        ofOrigin origin: Int, after place: PlannedResource.Place?, limit: Int, knownTo cache: Cache
    ) throws -> [PlannedResource] {
        let select = """
            SELECT fetch FROM pending WHERE origin = ? AND (turn, fetch) > (?, ?)
            ORDER BY turn, fetch LIMIT ?
            """
        var page: [PlannedResource] = try database.unsafeRead { db in
            let (turn, fetch) = (place?.turn ?? .min, place?.fetch ?? 0)
            let ids =
                try nextInOrder(after: place, limit: limit)
                ?? db.prepared(select).rows(origin, turn, fetch, limit) { $0.integer() }
            return try fetches(ids, in: db)
        }
        let stale = page.indices.filter { pendingStatus(of: page[$0].id) == .stale }
        guard !stale.isEmpty else { return page }
        let known = try cache.resources(stale.map { page[$0].key })
        for (index, known) in zip(stale, known) {
            if let known { page[index] = PlannedResource(page[index], known: known) }
        }
        return page
    }

    /// Returns the next page in fetch order, which may include finished fetches.
    func places(after last: PlannedResource.Place?) throws -> [PlannedResource.Place] {
        if let next = nextInOrder(after: last, limit: Self.pageLimit) {
            return next.map { PlannedResource.Place(turn: 0, fetch: $0) }
        }
        if last == nil { try list(by: "turn, fetch") }
        let select = """
            SELECT turn, fetch FROM pending WHERE (turn, fetch) > (?, ?)
            ORDER BY turn, fetch LIMIT ?
            """
        return try read(select) {
            try $0.rows(last?.turn ?? .min, last?.fetch ?? 0, Self.pageLimit) {
                PlannedResource.Place(turn: Int($0.integer()), fetch: $0.integer())
            }
        }
    }

    private func nextInOrder(after place: PlannedResource.Place?, limit: Int) -> [Int64]? {
        let last = place?.fetch ?? 0
        return pending.withLock { $0.areInOrder ? $0.next(after: last, limit: limit) : nil }
    }

    func fetches(_ ids: [Int64], in db: Database) throws -> [PlannedResource] {
        let select = try db.prepared(
            """
            SELECT e.key, e.url, e.credentials, e.priority,
                (e.icon = 1) + count(*) FILTER (WHERE f.icon = 1), 1 + count(f.id),
                max(coalesce(e.digest, e.size, f.digest, f.size) IS NOT NULL)
            FROM entries e LEFT JOIN entries f ON f.leader = e.id WHERE e.id = ?
            """)
        return try ids.flatMap { id in
            try select.rows(id) { try PlannedResource(id, &$0, opening: seal) }
        }
    }

    func pendingStatus(of fetch: Int64) -> PlanStatus? { pending.withLock { $0.status(of: fetch) } }

    func pendingFetches(after last: Int64 = 0) -> [Int64] {
        pending.withLock { $0.next(after: last, limit: Self.pageLimit) }
    }
}

/// The resources to fetch, as two bits per entry, so that planning and reporting write no rows.
struct PendingFetches: Sendable {
    /// Whether all fetches have the same origin and priority, so that they start in manifest order.
    let areInOrder: Bool
    private var fetches: BitSet
    private var stale: BitSet = []

    init(upTo lastEntry: Int64, areInOrder: Bool) {
        (self.areInOrder, fetches) = (areInOrder, BitSet(reservingCapacity: Int(lastEntry)))
    }

    var count: Int { fetches.count }

    func status(of fetch: Int64) -> PlanStatus? {
        guard fetches.contains(Int(fetch)) else { return nil }
        return stale.contains(Int(fetch)) ? .stale : .missing
    }

    func next(after last: Int64, limit: Int) -> [Int64] {
        fetches[members: (Int(last) + 1)...].prefix(limit).map { Int64($0) }
    }

    mutating func insert(_ fetch: Int64) { fetches.insert(Int(fetch)) }
    mutating func markStale(_ fetch: Int64) { stale.insert(Int(fetch)) }
    mutating func remove(_ fetch: Int64) { fetches.remove(Int(fetch)) }
}
