import Synchronization

/// An HTTP/1.1 server on the loopback interface that counts requests and misbehaves on demand.
///
/// It listens on 127.0.0.1 and, if IPv6 is available, on [::1]. It answers 404 to requests without
/// a reply, keeps connections alive, and serves each connection on a separate thread.
public final class Origin: Sendable {
    private let server: OriginServer

    /// Starts listening. With port 0, the default, the kernel chooses a port.
    ///
    /// - Throws: ``OriginError``, for example if the port is in use.
    public init(port: UInt16 = 0, replies: [String: Reply] = [:]) throws {
        server = try OriginServer(port: port)
        for (path, reply) in replies { on(path, reply) }
    }

    deinit {
        // Does not wait, because the last reference may be released on one of the origin's threads.
        server.stop(waiting: false)
    }

    /// Closes the listener and every connection, and waits for the threads to end. Handlers must
    /// not call this.
    public func stop() { server.stop(waiting: true) }

    // MARK: Addresses

    /// The port on both loopback addresses.
    public var port: UInt16 { server.port }

    /// Whether the origin also listens on [::1].
    public var isOnIPv6: Bool { server.isOnIPv6 }

    /// The URL without a path, such as `http://127.0.0.1:43211`.
    public var baseURL: String { url("") }

    /// Returns the URL of a path that begins with a slash.
    ///
    /// Clients treat `localhost` and `127.0.0.1` as different hosts.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)\(path)"
    }

    // MARK: Replies

    /// Answers requests for this path. If `path` contains a query, the request must have the same
    /// one; otherwise any query matches. Replaces an earlier reply for the same path.
    public func on(_ path: String, _ reply: Reply) { server.routes.add(path) { _ in reply } }

    /// Answers requests for this path with a reply that depends on the request, such as on its
    /// attempt.
    ///
    /// The handler runs on a connection's thread and must not retain the origin.
    public func on(_ path: String, _ handler: @escaping @Sendable (Request) -> Reply) {
        server.routes.add(path, handler)
    }

    /// Answers requests that match no path. If the handler returns nil, earlier handlers are
    /// called.
    public func onAny(_ handler: @escaping @Sendable (Request) -> Reply?) {
        server.routes.add(handler)
    }

    /// Resets the connection after receiving a number of bytes of a request's body. If `limit`
    /// returns nil, or no less than the length of the body, the origin reads the whole body.
    public func cutBodies(_ limit: @escaping @Sendable (Request) -> Int?) {
        server.routes.limitBodies(limit)
    }

    /// Serves the files of a directory under `prefix`, such as `/icons`.
    ///
    /// - Parameter maxAge: The `max-age` of the responses in seconds, or nil to send no
    ///   `Cache-Control`.
    public func serve(directory: String, at prefix: String, maxAge: Int? = nil) {
        let files = StaticFiles(directory: directory, prefix: prefix)
        server.routes.add { request in
            let reply = files.reply(to: request)
            guard let maxAge else { return reply }
            return reply?.header("Cache-Control", "max-age=\(maxAge)")
        }
    }

    // MARK: Requests and connections

    /// All requests in order of arrival, without their bodies.
    public var requests: [Request] { server.log.requests }

    /// Returns the number of requests, for all paths or for one. A path with a query counts only
    /// requests with that query.
    public func count(_ path: String? = nil) -> Int { server.log.count(path) }

    /// The maximum number of requests in progress at the same time.
    ///
    /// It never exceeds the number of requests that clients had open at once. It is exact if the
    /// replies are held back.
    public var mostConcurrentRequests: Int { server.traffic.requests.most }

    /// Returns the maximum number of concurrent requests for one host, such as `localhost`.
    public func mostConcurrentRequests(host: String) -> Int {
        server.traffic.requests.mostByHost[host] ?? 0
    }

    /// The number of requests by the number of concurrent requests for the same host when they
    /// arrived, including themselves.
    public var requestsByConcurrency: [Int: Int] { server.traffic.requests.histogram }

    /// The maximum number of connections open at the same time that had received a request.
    public var mostConcurrentConnections: Int { server.traffic.connections.most }

    /// Returns the maximum number of concurrent connections whose first request named this host.
    public func mostConcurrentConnections(host: String) -> Int {
        server.traffic.connections.mostByHost[host] ?? 0
    }

    /// The number of connections accepted, including those without a request.
    public var connectionsOpened: Int { server.traffic.connectionsOpened }

    /// Calls `handler` for each new connection with the number of connections accepted until then,
    /// including the new one.
    public func onConnection(_ handler: @escaping @Sendable (Int) -> Void) {
        server.traffic.onOpened(handler)
    }

    /// Clears the requests, attempts and maxima. Connections stay open and keep their numbers.
    public func resetLog() {
        server.log.reset()
        server.traffic.reset()
    }

    /// Waits until at least `count` requests have arrived, for all paths or for one.
    ///
    /// - Throws: ``Timeout`` after `timeout` seconds. The default of 300 allows for other tests
    ///   that keep all threads of the process busy.
    public func waitForRequests(
        _ count: Int, to path: String? = nil, timeout: Double = 300
    ) async throws {
        guard await server.log.wait(for: count, to: path, seconds: timeout) else {
            throw Timeout(wanted: count, path: path, arrived: self.count(path))
        }
    }

    /// A wait for requests that did not arrive in time.
    public struct Timeout: Error, CustomStringConvertible {
        let wanted: Int
        let path: String?
        let arrived: Int

        /// The number of requests that arrived and the number expected.
        public var description: String {
            "only \(arrived) of \(wanted) requests\(path.map { " to \($0)" } ?? "") arrived in time"
        }
    }

    // MARK: Refused connections

    /// Returns a port that refuses connections. It stays reserved until this process exits.
    public static func refusedPort() throws -> UInt16 {
        try Socket.port(of: refusing.get())
    }

    /// A socket that is bound but does not listen.
    private static let refusing = Result { try Socket.bound(to: .ipv4, port: 0) }
}
