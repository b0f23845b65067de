import Foundation
import LarderCache
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A cache over HTTP, offline: it never opens a connection to anywhere.
///
///     let server = CacheServer(ServerConfiguration(cache: path))
///     let url = try await server.start()
///     …
///     let isWhole = await server.stop()
public final class CacheServer: Sendable {
    /// What each connection's socket may hold of what is sent, in bytes: the kernel's own limit
    /// would be megabytes for each slow reader.
    private static let sendBuffer = 128 << 10
    /// What is read at a time, in bytes: so many requests can be read before the first is answered.
    private static let receiveBuffer = 4 << 10

    private let configuration: ServerConfiguration
    private let running = Mutex<RunningServer?>(nil)

    /// Opens nothing yet.
    public init(_ configuration: ServerConfiguration) {
        self.configuration = configuration
    }

    /// Opens the cache, reads the manifests, and listens.
    ///
    /// - Returns: the server's URL, such as `http://127.0.0.1:8080/`.
    /// - Throws: `CacheError`, `.missing` if there is no cache; `ManifestError`; ``ServerError``.
    public func start() async throws -> String {
        let configuration = configuration
        // Each event loop takes up to three (epoll, eventfd, timerfd). The rest is for the cache,
        // its index, and a connection with the file that is sent over it.
        try OpenFileLimit.require(3 * System.coreCount + 32, for: configuration.cache)
        let metrics = ServerMetrics()
        let gate = ProblemGate(configuration.onProblem)
        let reader = try CacheReader(path: configuration.cache)
        let uses = UseNotes()
        let store = IconStore(
            reader, memoryLimit: configuration.memoryLimit, uses: uses, metrics: metrics,
            onProblem: gate.report)
        let missing = try configuration.missing.map { try MissingList($0) }
        let shelves = try ManifestShelves(
            configuration.manifests.map { manifest in
                ServedManifest(
                    name: manifest.name, source: manifest.source.cached(reader.cache.manifest))
            }, rules: configuration.manifestRules, reader,
            onProblem: gate.report)
        let upkeep = ServerUpkeep(store, uses, missing, onProblem: gate.report)
        let limit = min(configuration.maximumConnections, OpenFileLimit.connections)
        if limit < configuration.maximumConnections {
            gate.report(
                """
                the limit on open files (ulimit -n), \(OpenFileLimit.current), permits \(limit) \
                connections at once
                """)
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let pool = NIOThreadPool(numberOfThreads: ObjectReadings.threads)
        pool.start()
        let limits = ConnectionLimits(configuration)
        let loops = group.makeIterator().map { loop in
            (loop, NIOLoopBoundBox.makeBoxSendingValue(LoopConnections(limits), eventLoop: loop))
        }
        do {
            let table = Mutex<RouteTable?>(nil)
            let listener = try await bind(group, metrics, limit) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let answerer = RequestAnswerer(
                        routes: table.withLock { $0 } ?? RouteTable([], mirror: nil, names: .none),
                        pool: pool, readings: reader.readings, metrics: metrics,
                        onProblem: gate.report,
                        accessLog: configuration.accessLog)
                    guard let connections = loops.first(where: { $0.0 === channel.eventLoop })
                    else { return }
                    try channel.pipeline.syncOperations.addHandlers([
                        HeadRewriter(), TargetEncoder(), ByteToMessageHandler(Self.decoder),
                        ConnectionHandler(answerer, connections.1.value, limits),
                    ])
                }
            }
            let address = listener.localAddress
            let names = OwnNames(configuration, listeningOn: address)
            let answer = IconAnswer(configuration, missing: missing, metrics: metrics)
            let gallery = GalleryRoute(
                shelf: GalleryShelf(reader, configuration, onProblem: gate.report))
            let routes: [any Route] =
                [
                    IconRoute(store: store, answer: answer),
                    ObjectRoute(store: store, answer: answer),
                    ManifestRoute(
                        shelves: shelves, publicURL: configuration.publicURL,
                        allowedOrigin: configuration.allowedOrigin),
                    HealthRoute(),
                    MetricsRoute(
                        metrics: metrics, store: store, status: CachedStatus(reader),
                        onProblem: gate.report),
                ] + (configuration.hasGallery ? [gallery] : [])
            let mirror =
                configuration.isMirror ? MirrorRoute(store: store, answer: answer) : nil
            table.withLock { $0 = RouteTable(routes, mirror: mirror, names: names) }
            let server = RunningServer(
                group: group, pool: pool, listener: listener, loops: loops, upkeep: upkeep,
                metrics: metrics, limit: limit)
            server.begin()
            try await listener.setOption(.autoRead, value: true).get()
            running.withLock { $0 = server }
            return "http://\(names.authority)/"
        } catch {
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Stops listening, lets responses that are under way end, and closes everything.
    ///
    /// - Returns: false if one was cut off because it took longer than
    ///   ``ServerConfiguration/grace``.
    @discardableResult
    public func stop() async -> Bool {
        let server = running.withLock { running in
            defer { running = nil }
            return running
        }
        return await server?.stop(grace: configuration.grace) ?? true
    }

    private static var decoder: HTTPRequestDecoder {
        var limits = NIOHTTPDecoderLimitConfiguration()
        // The target and each field; and all of them.
        limits.maxHeaderFieldSize = RouteTable.longestTarget + 1_024
        limits.maxHeaderListSize = 2 * RouteTable.longestTarget
        limits.maxHeaderFieldCount = 100
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    }

    private static func reason(_ error: any Error) -> String {
        switch error {
        case is SocketAddressError.UnknownHost: return "there is no host of this name"
        case let error as IOError where error.errnoCode == EADDRINUSE:
            return "cannot listen: another program uses this address"
        case let error as IOError:
            return "cannot listen: \(String(cString: strerror(error.errnoCode)))"
        default: return "cannot listen: \(error)"
        }
    }

    private func bind(
        _ group: MultiThreadedEventLoopGroup, _ metrics: ServerMetrics, _ limit: Int,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> any Channel {
        do {
            return try await ServerBootstrap(group: group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.backlog, value: 1_024)
                // Nobody is accepted before the routes are there, which need the port.
                .serverChannelOption(.autoRead, value: false)
                // The gate is asked before each.
                .serverChannelOption(.maxMessagesPerRead, value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(
                            AcceptGate(limit: limit, metrics: metrics))
                    }
                }
                .childChannelInitializer(initializer)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelOption(.socketOption(.so_sndbuf), value: Self.sendBuffer)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(
                    .recvAllocator,
                    value: FixedSizeRecvByteBufferAllocator(
                        capacity: Self.receiveBuffer)
                )
                .bind(host: configuration.host, port: configuration.port).get()
        } catch {
            throw ServerError(
                code: .address, subject: "\(configuration.host):\(configuration.port)",
                message: Self.reason(error))
        }
    }
}

/// How many descriptors the process may have.
public enum OpenFileLimit {
    #if canImport(Glibc)
        private static let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
    #else
        private static let resource = RLIMIT_NOFILE
    #endif
    /// What is open besides connections and the files that they are sent, with room to spare.
    private static let reserve = 48

    /// The limit.
    static var current: Int {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 256 }
        return Int(clamping: limit.rlim_cur)
    }

    /// How many connections fit beneath it: each takes one, and another while a file is on its way.
    /// A quarter is for files that are held open.
    static var connections: Int { max(1, (current - current / 4 - reserve) / 2) }

    /// Confirms that `count` descriptors are free. NIO traps if an event loop gets none.
    ///
    /// - Throws: `CacheError` `.unusable`, which names the limit.
    static func require(_ count: Int, for cache: String) throws(CacheError) {
        var taken: [Int32] = []
        defer { for descriptor in taken { close(descriptor) } }
        while taken.count < count {
            let descriptor = dup(STDERR_FILENO)
            guard descriptor >= 0 else {
                throw CacheError(
                    .unusable, subject: cache,
                    message: """
                        the limit on open files (ulimit -n), \(current), is too low to serve: \
                        \(count - taken.count) more are needed
                        """)
            }
            taken.append(descriptor)
        }
    }

    /// Permits as many as the system does.
    public static func raise() {
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return }
        limit.rlim_cur = limit.rlim_max
        setrlimit(resource, &limit)
    }
}
