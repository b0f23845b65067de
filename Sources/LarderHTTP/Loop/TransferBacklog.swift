import DequeModule
import HeapModule

/// The waiting transfers, by priority, then in the order of arrival. An origin at its limit does
/// not delay others.
///
/// Only a connected transfer takes a slot. The first transfer to an origin connects without one,
/// while others transfer. If no slot is free then, it waits here again, and libcurl keeps its
/// connection. A connecting transfer reserves a slot against lower priorities.
///
/// libcurl has limits, too, but the time-outs of a transfer run while it waits inside libcurl.
struct TransferBacklog {
    private struct Origin {
        /// Sorted. Some may have been cancelled.
        private(set) var waiting: Deque<Turn> = []
        /// With or without a slot.
        var underWay = 0
        /// Without a slot.
        var connecting = 0
        var line = Line.none
        var isUnreachable = false

        var isIdle: Bool { underWay == 0 && waiting.isEmpty }

        mutating func lineUp(_ turn: Turn) {
            let isLast = waiting.last.map { $0 < turn } ?? true
            let place = isLast ? nil : waiting.firstIndex { turn < $0 }
            waiting.insert(turn, at: place ?? waiting.endIndex)
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

    private enum Line { case none, place, connection }

    private struct Turn: Comparable, Hashable {
        let priority: Int
        let id: TransferID

        init(_ order: PendingTransfer) { (priority, id) = (order.request.priority, order.id) }

        static func < (left: Turn, right: Turn) -> Bool {
            (right.priority, left.id.number) < (left.priority, right.id.number)
        }
    }

    private struct ReadyOrigin: Comparable, Hashable {
        let name: String
        let first: Turn

        static func < (left: ReadyOrigin, right: ReadyOrigin) -> Bool { left.first < right.first }
    }

    private let limit: Int
    private let limitPerOrigin: Int
    private let connectionsAhead: Int
    /// Used slots.
    private var underWay = 0
    /// Priorities of the connecting transfers without a slot.
    private var connecting: [TransferID: Int] = [:]
    private var orders: [TransferID: PendingTransfer] = [:]
    private var origins: [String: Origin] = [:]
    /// Origins with an open connection.
    private var connected: Set<String> = []
    /// The origins with a waiting transfer and room for it, each once, and some outdated ones.
    private var forPlaces = Heap<ReadyOrigin>()
    private var forConnections = Heap<ReadyOrigin>()

    /// - Parameters:
    ///   - limit: The number of slots.
    ///   - connectionsAhead: Maximum number of connecting transfers beyond `limit`. With 0,
    ///     connecting takes a slot.
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

    mutating func setPriority(_ priority: Int, of id: TransferID) {
        if connecting[id] != nil { connecting[id] = priority }
        guard var order = orders[id], order.request.priority != priority else { return }
        origins[order.origin]?.remove(Turn(order))
        order.request.priority = priority
        orders[id] = order
        origins[order.origin]?.lineUp(Turn(order))
        review(order.origin)
    }

    mutating func remove(_ id: TransferID) -> PendingTransfer? { orders.removeValue(forKey: id) }

    /// Removes all waiting transfers, in order, once nothing is in flight.
    mutating func removeAll() -> [PendingTransfer] {
        defer {
            orders = [:]
            origins = [:]
            forPlaces = Heap()
            forConnections = Heap()
        }
        return orders.values.sorted { $0.id.number < $1.id.number }
    }

    /// Removes the next transfer. It counts as in flight until ``ended(_:reachable:)`` or
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

    /// Connecting transfers with a higher priority come first.
    private func hasPlace(ofPriority priority: Int) -> Bool {
        underWay < limit && underWay + connecting.values.count { $0 > priority } < limit
    }

    /// Whether the entry is current. An origin that changes its queue leaves its old entry behind.
    private func isIn(_ line: Line, _ ready: ReadyOrigin) -> Bool {
        guard let origin = origins[ready.name] else { return false }
        return origin.line == line && origin.waiting.first == ready.first
    }

    /// Returns whether there is a slot for a connected transfer. If not, call ``putBack(_:)``.
    mutating func connected(_ order: PendingTransfer) -> Bool {
        let hasPlace = connecting[order.id] == nil || hasPlace(ofPriority: order.request.priority)
        if hasPlace, leaveConnecting(order) { underWay += 1 }
        let origin = order.origin
        guard connectionsAhead > 0, connected.insert(origin).inserted else { return hasPlace }
        // Waiting transfers to this origin can now use slots.
        if origins[origin]?.line == .connection { origins[origin]?.line = .none }
        review(origin)
        return hasPlace
    }

    /// Returns whether the transfer was connecting without a slot.
    @discardableResult
    private mutating func leaveConnecting(_ order: PendingTransfer) -> Bool {
        guard connecting.removeValue(forKey: order.id) != nil else { return false }
        origins[order.origin]?.connecting -= 1
        return true
    }

    mutating func putBack(_ order: PendingTransfer) {
        leaveConnecting(order)
        orders[order.id] = order
        origins[order.origin]?.underWay -= 1
        origins[order.origin]?.lineUp(Turn(order))
        review(order.origin)
    }

    mutating func ended(_ order: PendingTransfer, reachable: Bool) {
        if !leaveConnecting(order) { underWay -= 1 }
        origins[order.origin]?.underWay -= 1
        origins[order.origin]?.isUnreachable = !reachable
        // After an end without a connection, nothing is known about the origin.
        if !reachable || order.request.isLastOfHost { connected.remove(order.origin) }
        review(order.origin)
    }

    /// Records that the last connection to an origin was closed.
    mutating func disconnected(_ origin: String) { connected.remove(origin) }

    /// Whether the last transfer to the origin had no connection.
    func isUnreachable(_ origin: String) -> Bool { origins[origin]?.isUnreachable ?? false }

    /// Puts an origin into its queue, and removes an idle one.
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
            // The other transfers wait for the connection that is being made.
            origins[name]?.line = .connection
            forConnections.insert(ready)
            if hasTooMany(forConnections) {
                forConnections = withoutOutdated(forConnections, .connection)
            }
        }
    }

    /// If so, most entries are outdated.
    private func hasTooMany(_ heap: Heap<ReadyOrigin>) -> Bool {
        heap.count > 2 * origins.count + 64
    }

    private func withoutOutdated(_ heap: Heap<ReadyOrigin>, _ line: Line) -> Heap<ReadyOrigin> {
        Heap(Set(heap.unordered).filter { isIn(line, $0) })
    }
}
