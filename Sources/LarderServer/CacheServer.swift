import Foundation
import LarderCache
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server for a cache. It never connects to another server.
package final class CacheServer: Sendable {
    /// The size of the kernel's send buffer in bytes. By default, it can reach several megabytes.
    private static let sendBuffer = 128 << 10
    /// The size of a read in bytes. All requests in a read are parsed before the first is answered.
    private static let receiveBuffer = 4 << 10

    private let configuration: ServerConfiguration
    private let running = Mutex<RunningServer?>(nil)

    package init(_ configuration: ServerConfiguration) { self.configuration = configuration }

    /// Starts to listen. Returns the server's URL, for example `http://127.0.0.1:8080/`.
    package func start() async throws -> String {
        // Each event loop needs up to three descriptors (epoll, eventfd, timerfd). The cache, its
        // index, and one connection with its file need 32.
        try OpenFileLimit.require(3 * System.coreCount + 32, for: configuration.cache)
        let log = ServerLog(configuration.logger, onProblem: configuration.onProblem)
        let metrics = ServerMetrics()
        let icons = try IconStore(
            path: configuration.cache, memoryLimit: configuration.memoryLimit, metrics: metrics,
            log: log)
        let missing = try configuration.missing.map { try MissingList($0) }
        let manifests = try ServedManifests(
            configuration.manifests, rules: configuration.manifestRules, icons.cache, log: log)
        let limit = min(configuration.maximumConnections, OpenFileLimit.connections)
        if limit < configuration.maximumConnections {
            log.problem(
                """
                the limit on open files (ulimit -n) is \(OpenFileLimit.current); the server \
                accepts at most \(limit) connections
                """)
        }
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let pool = NIOThreadPool(numberOfThreads: ObjectReadings.threads)
        pool.start()
        let loops = group.makeIterator().map { loop in
            (loop, NIOLoopBoundBox.makeBoxSendingValue(LoopConnections(), eventLoop: loop))
        }
        do {
            let answerer = Mutex<RequestAnswerer?>(nil)
            let gate = { @Sendable in AcceptGate(limit: limit, metrics: metrics, log: log) }
            let listener = try await listen(on: group, gate) { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let answerer = answerer.withLock({ $0 }),
                        let connections = loops.first(where: { $0.0 === channel.eventLoop })
                    else { return }
                    try channel.pipeline.syncOperations.addHandlers([
                        HeadRewriter(), ByteToMessageHandler(Self.decoder),
                        ConnectionHandler(answerer, connections.1.value),
                    ])
                }
            }
            let address = listener.localAddress
            let names = OwnNames(
                host: configuration.host, address: address?.ipAddress ?? configuration.host,
                port: address?.port ?? configuration.port, publicURL: configuration.publicURL,
                isMirror: configuration.isMirror)
            let ready = RequestAnswerer(
                configuration: configuration, names: names, icons: icons, missing: missing,
                gallery: ServedGallery(icons, configuration, log: log), manifests: manifests,
                metrics: metrics, pool: pool, log: log)
            answerer.withLock { $0 = ready }
            let server = RunningServer(
                answerer: ready, group: group, listener: listener, loops: loops)
            server.begin(limit: limit)
            try await listener.setOption(.autoRead, value: true).get()
            running.withLock { $0 = server }
            return "http://\(names.authority)/"
        } catch {
            try? await pool.shutdownGracefully()
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// Closes all connections after their responses. Returns false if one was cut off after
    /// ``ServerConfiguration/grace``.
    @discardableResult
    package func stop() async -> Bool {
        let server = running.withLock { $0.take() }
        return await server?.stop(grace: configuration.grace) ?? true
    }

    private static var decoder: HTTPRequestDecoder {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderFieldSize = TargetMask.longest + 1_024
        limits.maxHeaderListSize = 2 * TargetMask.longest
        limits.maxHeaderFieldCount = 100
        return HTTPRequestDecoder(leftOverBytesStrategy: .dropBytes, limitConfiguration: limits)
    }

    private func listen(
        on group: MultiThreadedEventLoopGroup, _ gate: @escaping @Sendable () -> AcceptGate,
        _ initializer: @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
    ) async throws -> any Channel {
        do {
            return try await ServerBootstrap(group: group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .serverChannelOption(.backlog, value: 1_024)
                // The routes need the port, so no connection is accepted before the routes exist.
                .serverChannelOption(.autoRead, value: false)
                // One connection per read, because the gate must be checked before each.
                .serverChannelOption(.maxMessagesPerRead, value: 1)
                .serverChannelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHandler(gate())
                    }
                }
                .childChannelInitializer(initializer)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelOption(.socketOption(.so_sndbuf), value: Self.sendBuffer)
                .childChannelOption(.allowRemoteHalfClosure, value: true)
                .childChannelOption(.maxMessagesPerRead, value: 1)
                .childChannelOption(
                    .recvAllocator,
                    value: FixedSizeRecvByteBufferAllocator(capacity: Self.receiveBuffer)
                )
                .bind(host: configuration.host, port: configuration.port).get()
        } catch {
            let reason =
                switch error {
                case is SocketAddressError.UnknownHost: "unknown host name"
                case let error as IOError where error.errnoCode == EADDRINUSE:
                    "another program uses this address; choose another port with --listen"
                case let error as IOError
                where error.errnoCode == EACCES && 1..<1_024 ~= configuration.port:
                    "a port below 1024 needs root or CAP_NET_BIND_SERVICE;"
                        + " choose another port with --listen, such as 8080"
                case let error as IOError: String(cString: strerror(error.errnoCode))
                default: "\(error)"
                }
            throw CacheError(
                .unusable, subject: "\(configuration.host):\(configuration.port)",
                message: "cannot listen: \(reason)")
        }
    }
}

private struct RunningServer: Sendable {
    let answerer: RequestAnswerer
    let group: MultiThreadedEventLoopGroup
    let listener: any Channel
    let loops: [(any EventLoop, NIOLoopBoundBox<LoopConnections>)]

    func begin(limit: Int) {
        for (loop, connections) in loops {
            loop.scheduleRepeatedTask(initialDelay: .seconds(1), delay: .seconds(1)) { _ in
                let open = answerer.metrics.openConnections.load(ordering: .relaxed)
                connections.value.sweep(isFull: open >= limit)
            }
        }
        repeatedly(every: .seconds(1)) { answerer.icons.refresh() }
        repeatedly(every: .seconds(5)) { recordAll() }
    }

    private func repeatedly(every time: TimeAmount, _ body: @escaping @Sendable () -> Void) {
        let loop = loops[0].0
        loop.scheduleRepeatedAsyncTask(initialDelay: time, delay: time) { _ in
            answerer.pool.runIfActive(eventLoop: loop, body)
        }
    }

    private func recordAll() {
        answerer.icons.cache.recordUse()
        answerer.missing?.save(answerer.icons.cache, answerer.log)
    }

    func stop(grace: Duration) async -> Bool {
        try? await listener.close()
        await onLoops { $0.drain() }
        let end = ContinuousClock.now + grace
        // Idle connections count until the client closes them, because it may still be reading.
        var left = await onLoops { $0.counts }
        while left.contains(where: { $0.open > 0 }), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(20))
            left = await onLoops { $0.counts }
        }
        await onLoops { $0.closeAll() }
        try? await answerer.pool.runIfActive { recordAll() }
        // The pool ends first, because its work completes on the loops.
        try? await answerer.pool.shutdownGracefully()
        try? await group.shutdownGracefully()
        return left.allSatisfy { $0.busy == 0 }
    }

    @discardableResult
    private func onLoops<Value: Sendable>(
        _ body: @escaping @Sendable (LoopConnections) -> Value
    ) async -> [Value] {
        var values: [Value] = []
        for (loop, connections) in loops {
            let value = try? await loop.submit { body(connections.value) }.get()
            if let value { values.append(value) }
        }
        return values
    }
}
