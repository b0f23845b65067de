import Synchronization

/// The open connections and requests in progress, with their maxima.
///
/// The maxima never exceed the actual concurrency. A request stops counting before its last byte is
/// sent. A peer that has left does not count towards a new maximum, even if its thread has not
/// noticed yet.
final class Traffic: Sendable {
    /// A set of connections by requested host, with the maximum number at the same time.
    struct Census {
        private var hosts: [Int: String] = [:]
        private var countByHost: [String: Int] = [:]
        private(set) var most = 0
        private(set) var mostByHost: [String: Int] = [:]
        /// The number of additions by the resulting number of connections for the same host.
        private(set) var histogram: [Int: Int] = [:]

        mutating func add(_ connection: Int, host: String, isGone: (Int) -> Bool) {
            guard hosts[connection] == nil else { return }
            hosts[connection] = host
            countByHost[host, default: 0] += 1
            histogram[countByHost[host] ?? 0, default: 0] += 1
            if isNewMaximum(host) {
                for other in hosts.keys where other != connection && isGone(other) { remove(other) }
            }
            if isNewMaximum(host) {
                most = max(most, hosts.count)
                mostByHost[host] = max(mostByHost[host] ?? 0, countByHost[host] ?? 0)
            }
        }

        mutating func remove(_ connection: Int) {
            guard let host = hosts.removeValue(forKey: connection) else { return }
            countByHost[host, default: 0] -= 1
        }

        mutating func resetMaxima() {
            most = 0
            mostByHost = [:]
            histogram = [:]
        }

        private func isNewMaximum(_ host: String) -> Bool {
            hosts.count > most || (countByHost[host] ?? 0) > (mostByHost[host] ?? 0)
        }
    }

    private struct State {
        var opened = 0
        var sockets: [Int: Int32] = [:]
        var connections = Census()
        var requests = Census()
        var isStopped = false
        var onOpened: @Sendable (Int) -> Void = { _ in }
    }

    private let state = Mutex(State())

    var connectionsOpened: Int { state.withLock { $0.opened } }
    var connections: Census { state.withLock { $0.connections } }
    var requests: Census { state.withLock { $0.requests } }

    /// Returns the number of a new connection; nil if the origin has stopped.
    func opened(_ socket: Int32) -> Int? {
        let entry: (number: Int, handler: @Sendable (Int) -> Void)? = state.withLock { state in
            guard !state.isStopped else { return nil }
            state.opened += 1
            state.sockets[state.opened] = socket
            return (state.opened, state.onOpened)
        }
        if let entry { entry.handler(entry.number) }
        return entry?.number
    }

    func onOpened(_ handler: @escaping @Sendable (Int) -> Void) {
        state.withLock { $0.onOpened = handler }
    }

    /// Removes a connection. Its socket must be closed after this call, not before.
    func closed(_ connection: Int) {
        state.withLock { state in
            state.requests.remove(connection)
            state.connections.remove(connection)
            state.sockets[connection] = nil
        }
    }

    func began(_ connection: Int, host: String) {
        state.withLock { state in
            let sockets = state.sockets
            func isGone(_ other: Int) -> Bool { sockets[other].map(Socket.isAbandoned) ?? true }
            state.connections.add(connection, host: host, isGone: isGone)
            state.requests.add(connection, host: host, isGone: isGone)
        }
    }

    func ended(_ connection: Int) {
        state.withLock { $0.requests.remove(connection) }
    }

    /// Resets the maxima and keeps the open connections.
    func reset() {
        state.withLock { state in
            state.connections.resetMaxima()
            state.requests.resetMaxima()
        }
    }

    /// Refuses further connections and wakes every thread that waits on a connection.
    func stop() {
        state.withLock { state in
            state.isStopped = true
            for socket in state.sockets.values { Socket.shutDown(socket) }
        }
    }
}
