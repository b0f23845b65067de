import Synchronization

/// A real HTTP/1.1 server on the loopback interface that can misbehave on demand and counts what
/// it was asked.
///
/// It answers with 404 until told otherwise, keeps connections alive and serves each in a thread
/// of its own. It listens on 127.0.0.1 and, where there is IPv6, on [::1].
public final class Origin: Sendable {
    private let server: OriginServer

    /// Starts listening. Port 0, the default, lets the kernel choose.
    ///
    /// - Throws: ``OriginError``, such as for a port that is taken.
    public init(port: UInt16 = 0, replies: [String: Reply] = [:]) throws {
        server = try OriginServer(port: port)
        for (path, reply) in replies { on(path, reply) }
    }

    deinit {
        // Without waiting, because the last reference may go in one of the origin's own threads.
        server.stop(waiting: false)
    }

    /// Closes the listener and every connection and waits for the threads. Not to be called in a
    /// handler.
    public func stop() { server.stop(waiting: true) }

    // MARK: Addresses

    /// The port on both loopback addresses.
    public var port: UInt16 { server.port }

    /// Whether it listens on [::1], too.
    public var isOnIPv6: Bool { server.isOnIPv6 }

    /// Such as `http://127.0.0.1:43211`.
    public var baseURL: String { url("") }

    /// The URL of a path that begins with a slash. `localhost` makes it another host's.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "http://\(host):\(port)\(path)"
    }

    // MARK: Replies

    /// Answers requests for exactly this path: with its query if it has one, else whatever the
    /// query. The newest such reply counts.
    public func on(_ path: String, _ reply: Reply) { server.routes.add(path) { _ in reply } }

    /// The same, with a reply that depends on the request, such as on its attempt.
    ///
    /// The handler runs in a connection's thread and must not keep the origin itself.
    public func on(_ path: String, _ handler: @escaping @Sendable (Request) -> Reply) {
        server.routes.add(path, handler)
    }

    /// Answers requests that no exact path answers; nil leaves it to earlier handlers.
    public func onAny(_ handler: @escaping @Sendable (Request) -> Reply?) {
        server.routes.add(handler)
    }

    /// Resets the connection once so many bytes of a request's body have come, if that is less than
    /// all; nil: reads all of it.
    public func cutBodies(_ limit: @escaping @Sendable (Request) -> Int?) {
        server.routes.limitBodies(limit)
    }

    /// Answers requests below `prefix` (such as `/icons`) with the files in a directory.
    ///
    /// - Parameter maxAge: how long they may be used without asking again, in seconds; nil, the
    ///   default, says nothing about it.
    public func serve(directory: String, at prefix: String, maxAge: Int? = nil) {
        let files = StaticFiles(directory: directory, prefix: prefix)
        server.routes.add { request in
            let reply = files.reply(to: request)
            guard let maxAge else { return reply }
            return reply?.header("Cache-Control", "max-age=\(maxAge)")
        }
    }

    // MARK: What was asked

    /// All requests in order of arrival, without their bodies.
    public var requests: [Request] { server.log.requests }

    /// The number of requests, in all or for one path (with its query if it has one).
    public func count(_ path: String? = nil) -> Int { server.log.count(path) }

    /// The most requests that were being answered at one time. Never more than the clients had
    /// open at one time; to be sure that it is as many, hold the replies back.
    public var mostConcurrentRequests: Int { server.traffic.requests.most }

    /// The same for one host, such as `localhost`.
    public func mostConcurrentRequests(host: String) -> Int {
        server.traffic.requests.mostByHost[host] ?? 0
    }

    /// How many requests found so many of their host's being answered, themselves included.
    public var requestsByConcurrency: [Int: Int] { server.traffic.requests.histogram }

    /// The most connections on which something had been asked that were open at one time.
    public var mostConcurrentConnections: Int { server.traffic.connections.most }

    /// The same for those whose first request named that host.
    public func mostConcurrentConnections(host: String) -> Int {
        server.traffic.connections.mostByHost[host] ?? 0
    }

    /// How many connections were ever accepted, asked on or not.
    public var connectionsOpened: Int { server.traffic.connectionsOpened }

    /// Has `tell` called for each connection that is accepted from now on, with how many there ever
    /// were.
    public func onConnection(_ tell: @escaping @Sendable (Int) -> Void) {
        server.traffic.onOpened(tell)
    }

    /// Forgets requests, attempts and maxima; connections stay open and keep their numbers.
    public func resetLog() {
        server.log.reset()
        server.traffic.reset()
    }

    /// Returns once at least `count` requests have arrived, in all or for one path.
    ///
    /// - Throws: ``Timeout`` after `timeout` seconds (default 300: other tests may keep every
    ///   thread of the process busy for long, and none of them is a reason to fail).
    public func waitForRequests(
        _ count: Int, to path: String? = nil, timeout: Double = 300
    ) async throws {
        guard await server.log.wait(for: count, to: path, seconds: timeout) else {
            throw Timeout(wanted: count, path: path, arrived: self.count(path))
        }
    }

    /// Requests that were waited for and did not come.
    public struct Timeout: Error, CustomStringConvertible {
        let wanted: Int
        let path: String?
        let arrived: Int

        /// How many came of how many.
        public var description: String {
            "only \(arrived) of \(wanted) requests\(path.map { " to \($0)" } ?? "") arrived in time"
        }
    }

    // MARK: Nobody there

    /// A port that refuses connections, and that nobody else can take while this process lives.
    public static func refusedPort() throws -> UInt16 {
        try Socket.port(of: refusing.get())
    }

    /// Bound and never listening.
    private static let refusing = Result { try Socket.bound(to: .ipv4, port: 0) }
}
