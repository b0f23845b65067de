import Foundation
import LarderTestSupport

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

    private let state = FrontState()
    private let stopping: Gate
    private let threads = DispatchGroup()

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
        let context = try TLSContext(
            certificate: TestCertificates.certificatePath(certificate),
            key: TestCertificates.keyPath(certificate), offer: offer.map(\.rawValue),
            asksForCertificate: requiresClientCertificate)
        stopping = try Gate()
        let listener = try Socket.bound(to: .ipv4, port: 0)
        do {
            try Socket.listen(listener, backlog: 4096)
            port = try Socket.port(of: listener)
        } catch {
            close(listener)
            throw error
        }
        _ = fcntl(listener, F_SETFL, O_NONBLOCK)
        threads.enter()
        // It keeps none of this, so that dropping the front can end it.
        Thread.detachNewThread { [state, stopping, threads] in
            FrontLoop(state, listener: listener, originPort: originPort, context: context)
                .run(until: stopping)
            threads.leave()
        }
    }

    deinit { stopping.open() }

    /// Closes the listener and every connection and waits until they are.
    public func stop() {
        stopping.open()
        threads.wait()
    }

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
}
