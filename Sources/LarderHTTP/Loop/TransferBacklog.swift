import DequeModule
import HeapModule

/// The transfers that wait for their turn, and who is next: by priority, then in the order they
/// came, except that an origin with enough under way does not hold up the others.
///
/// Only who has a connection takes a place. The first transfer to an origin begins without one, to
/// connect while others transfer; if no place is free for its request then, it waits for its
/// turn here again, and its connection with libcurl's others that nobody uses. One that connects
/// keeps a place free of lower priorities.
///
/// libcurl has limits of its own, but a transfer that waits inside libcurl has its timeouts
/// running.
struct TransferBacklog {
    private struct Origin {
        /// In order; some may have been cancelled since.
        private(set) var waiting: Deque<Turn> = []
        /// With a place or without.
        var underWay = 0
        /// Of those, without.
        var connecting = 0
        var line = Line.none
        var isUnreachable = false

        var isIdle: Bool { underWay == 0 && waiting.isEmpty }

        /// Most go to the end.
        mutating func lineUp(_ turn: Turn) {
            let isLast = waiting.last.map { $0 < turn } ?? true
            let place = isLast ? nil : waiting.firstIndex { turn < $0 }
            waiting.insert(turn, at: place ?? waiting.endIndex)
            // To stand where its new first one belongs.
            if place == waiting.startIndex { line = .none }
        }

        mutating func remove(_ turn: Turn) {
            if waiting.first == turn { line = .none }
            waiting.removeAll { $0 == turn }
        }

        mutating func takeFirst() -> TransferID? {
            line = .none
            return waiting.popFirst()?.id
        }
    }

    /// What an origin stands in line for.
    private enum Line { case none, place, connection }

    /// A transfer's place among those that wait: by priority, then in the order they came.
    private struct Turn: Comparable, Hashable {
        let priority: Int
        let id: TransferID

        init(_ order: PendingTransfer) { (priority, id) = (order.request.priority, order.id) }

        static func < (left: Turn, right: Turn) -> Bool {
            (right.priority, left.id.number) < (left.priority, right.id.number)
        }
    }

    /// An origin by the first of its transfers that wait.
    private struct ReadyOrigin: Comparable, Hashable {
        let name: String
        let first: Turn

        static func < (left: ReadyOrigin, right: ReadyOrigin) -> Bool { left.first < right.first }
    }

    private let limit: Int
    private let limitPerOrigin: Int
    private let connectionsAhead: Int
    /// How many places are taken.
    private var underWay = 0
    /// Those under way without a place, and their priorities.
    private var connecting: [TransferID: Int] = [:]
    private var orders: [TransferID: PendingTransfer] = [:]
    private var origins: [String: Origin] = [:]
    /// Origins that a connection was made to, and is open.
    private var connected: Set<String> = []
    /// The origins that have something waiting and room for it, each once, and some that are there
    /// no more.
    private var forPlaces = Heap<ReadyOrigin>()
    private var forConnections = Heap<ReadyOrigin>()

    /// - Parameters:
    ///   - limit: places for all origins together.
    ///   - limitPerOrigin: of an origin's transfers, how many are under way at once at most.
    ///   - connectionsAhead: how many transfers connect at once beyond `limit`, at most. With 0
    ///     (the default), to connect takes a place as well.
    init(limit: Int, limitPerOrigin: Int, connectionsAhead: Int = 0) {
        self.limit = max(1, limit)
        self.limitPerOrigin = max(1, limitPerOrigin)
        self.connectionsAhead = connectionsAhead
    }

    mutating func add(_ order: PendingTransfer) {
        orders[order.id] = order
        origins[order.origin, default: Origin()].lineUp(Turn(order))
        review(order.origin)
    }

    /// Has one that waits, or connects, take the place of its new priority.
    mutating func setPriority(_ priority: Int, of id: TransferID) {
        if connecting[id] != nil { connecting[id] = priority }
        guard var order = orders[id], order.request.priority != priority else { return }
        origins[order.origin]?.remove(Turn(order))
        order.request.priority = priority
        orders[id] = order
        origins[order.origin]?.lineUp(Turn(order))
        review(order.origin)
    }

    /// Takes out what waits under that name.
    mutating func remove(_ id: TransferID) -> PendingTransfer? {
        orders.removeValue(forKey: id)
    }

    /// Takes out everything that waits, in order; for when nothing is under way any more.
    mutating func removeAll() -> [PendingTransfer] {
        defer {
            orders = [:]
            origins = [:]
            forPlaces = Heap()
            forConnections = Heap()
        }
        return orders.values.sorted { $0.id.number < $1.id.number }
    }

    /// The next one whose turn it is; it counts as under way until ``ended(_:reachable:)`` or
    /// ``putBack(_:)``.
    mutating func next() -> PendingTransfer? {
        while let (name, line) = nextOrigin() {
            let id = origins[name]?.takeFirst()
            let order = id.flatMap { orders.removeValue(forKey: $0) }
            if let order {
                origins[name]?.underWay += 1
                if line == .place {
                    underWay += 1
                } else {
                    connecting[order.id] = order.request.priority
                    origins[name]?.connecting += 1
                }
            }
            review(name)
            if let order { return order }
        }
        return nil
    }

    private mutating func nextOrigin() -> (name: String, line: Line)? {
        while let origin = forPlaces.min, !isIn(.place, origin) { forPlaces.removeMin() }
        while let origin = forConnections.min, !isIn(.connection, origin) {
            forConnections.removeMin()
        }
        // Those who connect may all wait for nobody: they leave the places to others.
        let mayConnect = underWay + connecting.count < limit + connectionsAhead
        if let first = forPlaces.min, hasPlace(for: first),
            !mayConnect || forConnections.min.map({ first < $0 }) ?? true
        {
            forPlaces.removeMin()
            return (first.name, .place)
        }
        return mayConnect ? forConnections.popMin().map { ($0.name, .connection) } : nil
    }

    private func hasPlace(for ready: ReadyOrigin) -> Bool {
        let id = origins[ready.name]?.waiting.first?.id
        return hasPlace(ofPriority: id.flatMap { orders[$0]?.request.priority } ?? .max)
    }

    /// Those who connect and have a higher priority come before.
    private func hasPlace(ofPriority priority: Int) -> Bool {
        underWay < limit && underWay + connecting.values.count { $0 > priority } < limit
    }

    /// Whether it is still there: who changes its line leaves its old place to be passed over.
    private func isIn(_ line: Line, _ ready: ReadyOrigin) -> Bool {
        guard let origin = origins[ready.name] else { return false }
        return origin.line == line && origin.waiting.first == ready.first
    }

    /// A transfer has its connection.
    ///
    /// - Returns: whether there is a place for its request; if not, call ``putBack(_:)``.
    mutating func connected(_ order: PendingTransfer) -> Bool {
        let hasPlace =
            connecting[order.id] == nil || hasPlace(ofPriority: order.request.priority)
        if hasPlace, leaveConnecting(order) { underWay += 1 }
        noteConnection(to: order.origin)
        return hasPlace
    }

    /// - Returns: whether it was among those without a place.
    @discardableResult
    private mutating func leaveConnecting(_ order: PendingTransfer) -> Bool {
        guard connecting.removeValue(forKey: order.id) != nil else { return false }
        origins[order.origin]?.connecting -= 1
        return true
    }

    /// Has one that got a connection, and no place, wait for its turn.
    mutating func putBack(_ order: PendingTransfer) {
        leaveConnecting(order)
        orders[order.id] = order
        origins[order.origin]?.underWay -= 1
        origins[order.origin]?.lineUp(Turn(order))
        review(order.origin)
    }

    /// Makes room for others.
    mutating func ended(_ order: PendingTransfer, reachable: Bool) {
        if !leaveConnecting(order) { underWay -= 1 }
        origins[order.origin]?.underWay -= 1
        origins[order.origin]?.isUnreachable = !reachable
        // Of one that has ended without, nothing is known: it may have been cancelled before.
        if !reachable || order.request.isLastOfHost { connected.remove(order.origin) }
        review(order.origin)
    }

    private mutating func noteConnection(to name: String) {
        guard connectionsAhead > 0, connected.insert(name).inserted else { return }
        // Its others want places now.
        if origins[name]?.line == .connection { origins[name]?.line = .none }
        review(name)
    }

    /// The last connection to an origin was closed.
    mutating func disconnected(_ origin: String) { connected.remove(origin) }

    /// Whether the last transfer from there that ended had found no connection.
    func isUnreachable(_ origin: String) -> Bool {
        origins[origin]?.isUnreachable ?? false
    }

    /// Puts an origin into the line where it belongs, and forgets an idle one.
    private mutating func review(_ name: String) {
        guard let origin = origins[name] else { return }
        if origin.isIdle {
            origins[name] = nil
            return
        }
        guard origin.line == .none, let first = origin.waiting.first,
            origin.underWay < limitPerOrigin
        else { return }
        let ready = ReadyOrigin(name: name, first: first)
        if connectionsAhead == 0 || connected.contains(name) {
            origins[name]?.line = .place
            forPlaces.insert(ready)
            if hasTooMany(forPlaces) { forPlaces = withoutOutdated(forPlaces, .place) }
        } else if origin.connecting == 0 || origin.isUnreachable {
            // The others use the connection that is being made, or make theirs once it is known
            // that they can.
            origins[name]?.line = .connection
            forConnections.insert(ready)
            if hasTooMany(forConnections) {
                forConnections = withoutOutdated(forConnections, .connection)
            }
        }
    }

    /// Most would be out of date, and too far down to be met.
    private func hasTooMany(_ heap: Heap<ReadyOrigin>) -> Bool {
        heap.count > 2 * origins.count + 64
    }

    private func withoutOutdated(_ heap: Heap<ReadyOrigin>, _ line: Line) -> Heap<ReadyOrigin> {
        Heap(Set(heap.unordered).filter { isIn(line, $0) })
    }
}
