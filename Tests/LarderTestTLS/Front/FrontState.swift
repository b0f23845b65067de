import Synchronization

/// The statistics of a front, and the faults that it has to cause.
final class FrontState: Sendable {
    private struct State {
        var protocols: [String] = []
        var requests = 0
        var connections: [ObjectIdentifier: Connection] = [:]
        var mostConnections = 0
        var mostStreams = 0
        var mostStreamsOfOne = 0
        var goAwayAfter: Int?
        var resetPaths: Set<String> = []
        /// The number of requests to refuse, by path.
        var refusals: [String: Int] = [:]
        var onOpened: @Sendable (Int) -> Void = { _ in }
    }

    private struct Connection {
        var requests = 0
        var streams = 0
    }

    enum Action {
        case relay
        /// Relays the request and sends GOAWAY, so that it is the last one on its connection.
        case relayAsLast
        case reset
        case refuse
    }

    private let state = Mutex(State())

    var protocols: [String] { state.withLock { $0.protocols } }
    var requests: Int { state.withLock { $0.requests } }
    var mostConnections: Int { state.withLock { $0.mostConnections } }
    var mostStreams: Int { state.withLock { $0.mostStreams } }
    var mostStreamsOfOne: Int { state.withLock { $0.mostStreamsOfOne } }

    func goAway(after count: Int?) { state.withLock { $0.goAwayAfter = count } }

    func reset(_ path: String) { state.withLock { _ = $0.resetPaths.insert(path) } }

    func refuse(_ path: String, _ count: Int) { state.withLock { $0.refusals[path] = count } }

    /// Counts a connection that has negotiated its protocol.
    func opened(_ connection: AnyObject, protocol name: String) {
        let (count, handler) = state.withLock { state in
            state.protocols.append(name)
            state.connections[ObjectIdentifier(connection)] = Connection()
            state.mostConnections = max(state.mostConnections, state.connections.count)
            return (state.protocols.count, state.onOpened)
        }
        handler(count)
    }

    func onOpened(_ handler: @escaping @Sendable (Int) -> Void) {
        state.withLock { $0.onOpened = handler }
    }

    func closed(_ connection: AnyObject) {
        state.withLock { $0.connections[ObjectIdentifier(connection)] = nil }
    }

    func began(_ path: String, on connection: AnyObject) -> Action {
        state.withLock { state in
            state.requests += 1
            let id = ObjectIdentifier(connection)
            guard var entry = state.connections[id] else { return .relay }
            entry.requests += 1
            entry.streams += 1
            state.connections[id] = entry
            let streams = state.connections.values.reduce(0) { $0 + $1.streams }
            state.mostStreams = max(state.mostStreams, streams)
            state.mostStreamsOfOne = max(state.mostStreamsOfOne, entry.streams)
            if state.resetPaths.contains(path) { return .reset }
            if let count = state.refusals[path], count > 0 {
                state.refusals[path] = count - 1
                return .refuse
            }
            return entry.requests == state.goAwayAfter ? .relayAsLast : .relay
        }
    }

    func ended(on connection: AnyObject) {
        state.withLock { $0.connections[ObjectIdentifier(connection)]?.streams -= 1 }
    }
}
