import DequeModule
import HeapModule

/// The transfers that wait for their turn, and who is next: in the order they came, except that an
/// origin with enough under way does not hold up the others.
///
/// libcurl has limits of its own, but a transfer that waits inside libcurl has its timeouts running.
struct TransferBacklog {
    private struct Origin {
        /// In order; some may have been cancelled since.
        var waiting: Deque<TransferID> = []
        var underWay = 0
        var isReady = false
        var isUnreachable = false

        var isIdle: Bool { underWay == 0 && waiting.isEmpty }
    }

    /// An origin by the first of its transfers that wait.
    private struct ReadyOrigin: Comparable {
        let name: String
        let first: UInt64

        static func < (left: ReadyOrigin, right: ReadyOrigin) -> Bool { left.first < right.first }
    }

    private let limit: Int
    private let limitPerOrigin: Int
    private var underWay = 0
    private var orders: [TransferID: TransferOrder] = [:]
    private var origins: [String: Origin] = [:]
    /// The origins that have something waiting and room for it, each once.
    private var ready = Heap<ReadyOrigin>()

    init(limit: Int, limitPerOrigin: Int) {
        self.limit = max(1, limit)
        self.limitPerOrigin = max(1, limitPerOrigin)
    }

    mutating func add(_ order: TransferOrder) {
        orders[order.id] = order
        origins[order.origin, default: Origin()].waiting.append(order.id)
        review(order.origin)
    }

    /// Takes out what waits under that name.
    mutating func remove(_ id: TransferID) -> TransferOrder? {
        orders.removeValue(forKey: id)
    }

    /// Takes out everything that waits, in order; for when nothing is under way any more.
    mutating func removeAll() -> [TransferOrder] {
        defer {
            orders = [:]
            origins = [:]
            ready = Heap()
        }
        return orders.values.sorted { $0.id.number < $1.id.number }
    }

    /// The next one whose turn it is; it counts as under way until ``ended(_:reachable:)``.
    mutating func next() -> TransferOrder? {
        while underWay < limit, let name = ready.popMin()?.name {
            origins[name]?.isReady = false
            let id = origins[name]?.waiting.popFirst()
            let order = id.flatMap { orders.removeValue(forKey: $0) }
            if order != nil {
                underWay += 1
                origins[name]?.underWay += 1
            }
            review(name)
            if let order { return order }
        }
        return nil
    }

    /// Makes room for others.
    mutating func ended(_ order: TransferOrder, reachable: Bool) {
        underWay -= 1
        origins[order.origin]?.underWay -= 1
        origins[order.origin]?.isUnreachable = !reachable
        review(order.origin)
    }

    /// Whether the last transfer from there that ended had found no connection.
    func isUnreachable(_ origin: String) -> Bool {
        origins[origin]?.isUnreachable ?? false
    }

    /// Puts an origin into the line of ready ones if it belongs there, and forgets an idle one.
    private mutating func review(_ name: String) {
        guard let origin = origins[name] else { return }
        if origin.isIdle {
            origins[name] = nil
        } else if !origin.isReady, let first = origin.waiting.first,
            origin.underWay < limitPerOrigin
        {
            origins[name]?.isReady = true
            ready.insert(ReadyOrigin(name: name, first: first.number))
        }
    }
}
