import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL

/// TLS and HTTP/2 in front of a plain HTTP/1.1 origin: relays each request over a connection of
/// its own and passes the response on as it comes, its faults included.
///
/// It listens on 127.0.0.1. A response that is cut off is passed on as a closed connection
/// (HTTP/1.1) or as RST_STREAM (HTTP/2).
public final class TLSFront: Sendable {
    /// A protocol to agree on (ALPN).
    public enum ApplicationProtocol: String, Sendable {
        /// HTTP/2.
        case http2 = "h2"
        /// HTTP/1.1.
        case http1 = "http/1.1"
    }

    private let group: MultiThreadedEventLoopGroup
    private let state = FrontState()

    /// The port on 127.0.0.1, chosen by the kernel.
    public let port: UInt16

    /// Starts listening in front of the origin on 127.0.0.1 and `originPort`.
    ///
    /// - Parameters:
    ///   - offer: the protocols in order of preference; none: no ALPN, and HTTP/1.1.
    ///   - certificate: what it shows; default: one that is in order.
    ///   - requiresClientCertificate: whether it turns away who shows none; any will do.
    public init(
        originPort: UInt16, offer: [ApplicationProtocol] = [.http2, .http1],
        certificate: TestCertificates.Kind = .trusted, requiresClientCertificate: Bool = false
    ) throws {
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(
                TestCertificates.certificatePath(certificate)
            ).map { .certificate($0) },
            privateKey: .privateKey(
                try NIOSSLPrivateKey(file: TestCertificates.keyPath(certificate), format: .pem)))
        tls.applicationProtocols = offer.map(\.rawValue)
        if requiresClientCertificate { tls.certificateVerification = .noHostnameVerification }
        let context = try NIOSSLContext(configuration: tls)
        // One thread: events are counted in the order in which they happened.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let listener: any Channel
        do {
            listener = try ServerBootstrap(group: group)
                .serverChannelOption(.backlog, value: 4096)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
                .childChannelInitializer { [state] channel in
                    Self.configure(
                        channel, context, state, originPort: originPort,
                        requiresClientCertificate: requiresClientCertificate)
                }
                .bind(host: "127.0.0.1", port: 0).wait()
        } catch {
            group.shutdownGracefully { _ in }
            throw error
        }
        self.group = group
        port = UInt16(listener.localAddress?.port ?? 0)
    }

    deinit {
        group.shutdownGracefully { _ in }
    }

    /// Closes the listener and every connection and waits until they are.
    public func stop() { try? group.syncShutdownGracefully() }

    /// Such as `https://127.0.0.1:43211`.
    public var baseURL: String { url("") }

    /// The URL of a path that begins with a slash.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "https://\(host):\(port)\(path)"
    }

    // MARK: What was asked

    /// What each connection agreed on, in order: `h2` or `http/1.1`. A connection whose handshake
    /// failed is not among them.
    public var protocols: [String] { state.protocols }

    /// How many requests arrived.
    public var requestCount: Int { state.requests }

    /// The most connections that were open at one time.
    public var mostConcurrentConnections: Int { state.mostConnections }

    /// The most requests that were being answered at one time.
    public var mostConcurrentStreams: Int { state.mostStreams }

    /// The most requests that were being answered at one time on one connection.
    public var mostConcurrentStreamsPerConnection: Int { state.mostStreamsOfOne }

    /// Has `tell` called for each connection whose handshake is done from now on, with how many
    /// there ever were.
    public func onConnection(_ tell: @escaping @Sendable (Int) -> Void) { state.onOpened(tell) }

    // MARK: Faults

    /// Each HTTP/2 connection sends GOAWAY when its `count`th request arrives, answers that one
    /// and takes no more. nil: never again.
    public func goAwayAfter(_ count: Int?) { state.goAway(after: count) }

    /// Requests for this path (with its query) are answered with RST_STREAM (INTERNAL_ERROR), or,
    /// in HTTP/1.1, with the connection's end.
    public func resetStream(path: String) { state.reset(path) }

    // curl resets every stream whose last byte came without END_STREAM, and a test's client may do
    // what it likes: no limit that protects a real server is in force.

    private static var patientConnection: NIOHTTP2Handler.ConnectionConfiguration {
        var configuration = NIOHTTP2Handler.ConnectionConfiguration()
        configuration.maximumConnectionGlitches = .max
        configuration.controlFrameRateLimit.windowLength = .milliseconds(1)
        return configuration
    }

    private static var patientStreams: NIOHTTP2Handler.StreamConfiguration {
        var configuration = NIOHTTP2Handler.StreamConfiguration()
        configuration.streamResetFrameRateLimit.windowLength = .milliseconds(1)
        configuration.streamErrorRateLimit.windowLength = .milliseconds(1)
        return configuration
    }

    private static func configure(
        _ channel: any Channel, _ context: NIOSSLContext, _ state: FrontState, originPort: UInt16,
        requiresClientCertificate: Bool
    ) -> EventLoopFuture<Void> {
        channel.closeFuture.whenComplete { _ in state.closed(channel) }
        return channel.eventLoop.makeCompletedFuture {
            let handler =
                requiresClientCertificate
                ? NIOSSLServerHandler(context: context) { $1.succeed(.certificateVerified) }
                : NIOSSLServerHandler(context: context)
            try channel.pipeline.syncOperations.addHandler(handler)
        }.flatMap {
            channel.configureHTTP2SecureUpgrade(
                h2ChannelConfigurator: { channel in
                    state.opened(channel, protocol: ApplicationProtocol.http2.rawValue)
                    return channel.configureHTTP2Pipeline(
                        mode: .server, connectionConfiguration: patientConnection,
                        streamConfiguration: patientStreams
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandlers([
                                HTTP2FramePayloadToHTTP1ServerCodec(),
                                RelayHandler(state, connection: channel, originPort: originPort),
                            ])
                        }
                    }.map { _ in }
                },
                http1ChannelConfigurator: { channel in
                    state.opened(channel, protocol: ApplicationProtocol.http1.rawValue)
                    return channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        try pipeline.configureHTTPServerPipeline()
                        try pipeline.addHandler(
                            RelayHandler(state, connection: channel, originPort: originPort))
                    }
                })
        }
    }
}
