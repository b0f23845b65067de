import Synchronization

/// The handlers of an origin.
final class Routes: Sendable {
    typealias Handler = @Sendable (Request) -> Reply?
    typealias BodyLimit = @Sendable (Request) -> Int?

    private struct State {
        var exact: [String: Handler] = [:]
        var general: [Handler] = []
        var bodyLimit: BodyLimit = { _ in nil }
    }

    private let state = Mutex(State())

    func add(_ path: String, _ handler: @escaping Handler) {
        state.withLock { $0.exact[path] = handler }
    }

    func add(_ handler: @escaping Handler) {
        state.withLock { $0.general.append(handler) }
    }

    func limitBodies(_ limit: @escaping BodyLimit) {
        state.withLock { $0.bodyLimit = limit }
    }

    func bodyLimit(for request: Request) -> Int? {
        state.withLock { $0.bodyLimit }(request)
    }

    /// Releases the handlers and the objects that they capture.
    func removeAll() {
        state.withLock { $0 = State() }
    }

    /// Returns the reply of the exact route, else of the newest general handler that has a reply,
    /// else 404.
    func reply(to request: Request) -> Reply {
        let (exact, general) = state.withLock { state in
            (state.exact[request.target] ?? state.exact[request.path], state.general)
        }
        if let reply = exact?(request) { return reply }
        for handler in general.reversed() {
            if let reply = handler(request) { return reply }
        }
        return .status(404)
    }
}
