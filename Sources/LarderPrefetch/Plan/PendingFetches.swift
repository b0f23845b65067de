import BitCollections

/// The resources that are still to be fetched: a bit for each entry of the plan, so that neither
/// planning nor reporting a fetch writes a row. A run with stale resources has four more bytes for
/// each.
struct PendingFetches: Sendable {
    /// Whether all of them have one origin and one priority: they are fetched in the order of their
    /// numbers, and the plan's table does not list them.
    let areInOrder: Bool
    private var fetches: BitSet
    /// The rows of stale resources in the cache's index, by fetch; 0 for those that are missing.
    /// Empty if none is stale.
    private var rows: [UInt32] = []
    private let last: Int64

    /// A stale resource of an unknown row.
    private static let unknown = UInt32.max

    /// - Parameter last: The number of the plan's last entry.
    init(upTo last: Int64, areInOrder: Bool) {
        self.areInOrder = areInOrder
        self.last = last
        fetches = BitSet(reservingCapacity: Int(last))
    }

    var count: Int { fetches.count }

    /// Nil if the fetch is not pending.
    func status(of fetch: Int64) -> PlanStatus? {
        guard fetches.contains(Int(fetch)) else { return nil }
        return rows.isEmpty || rows[Int(fetch)] == 0 ? .missing : .stale
    }

    /// Returns where a stale resource was when the plan was made; nil if that is not known.
    func row(of fetch: Int64) -> Int64? {
        guard !rows.isEmpty, rows[Int(fetch)] != Self.unknown else { return nil }
        return Int64(rows[Int(fetch)])
    }

    /// Returns the next fetches in the order of their numbers.
    func next(after last: Int64, limit: Int) -> [Int64] {
        fetches[members: (Int(last) + 1)...].prefix(limit).map { Int64($0) }
    }

    mutating func insert(_ fetch: Int64) { fetches.insert(Int(fetch)) }

    mutating func markStale(_ fetch: Int64, row: Int64? = nil) {
        if rows.isEmpty { rows = Array(repeating: 0, count: Int(last) + 1) }
        rows[Int(fetch)] = row.flatMap { $0 > 0 ? UInt32(exactly: $0) : nil } ?? Self.unknown
    }

    mutating func remove(_ fetch: Int64) { fetches.remove(Int(fetch)) }
}
