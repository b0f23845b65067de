import Foundation
import LarderTestSupport

/// A TLS and HTTP/2 front end for a plain HTTP/1.1 origin.
///
/// It listens on 127.0.0.1. It relays each request over a separate connection and streams the
/// response, including its faults. A truncated response ends with a closed connection (HTTP/1.1) or
/// RST_STREAM (HTTP/2).
public final class TLSFront: Sendable {
    /// A protocol to negotiate (ALPN).
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
    ///   - offer: The protocols in order of preference. If empty, the front uses HTTP/1.1 without
    ///     ALPN.
    ///   - certificate: The certificate of the front.
    ///   - requiresClientCertificate: Whether to reject clients without a certificate. The front
    ///     accepts every client certificate.
    public init(
        originPort: UInt16, offer: [ApplicationProtocol] = [.http2, .http1],
        certificate: TestCertificates.Kind = .trusted, requiresClientCertificate: Bool = false
    ) throws {
        let context = try TLSContext(
            certificate: TestCertificates.certificatePath(certificate),
            key: TestCertificates.keyPath(certificate), offer: offer.map(\.rawValue),
            requiresClientCertificate: requiresClientCertificate)
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
        // The thread does not retain the front, because releasing the front must end the thread.
        Thread.detachNewThread { [state, stopping, threads] in
            FrontLoop(state, listener: listener, originPort: originPort, context: context)
                .run(until: stopping)
            threads.leave()
        }
    }

    deinit { stopping.open() }

    /// Closes the listener and every connection, and waits until that is done.
    public func stop() {
        stopping.open()
        threads.wait()
    }

    /// The URL without a path, such as `https://127.0.0.1:43211`.
    public var baseURL: String { url("") }

    /// Returns the URL of a path that begins with a slash.
    public func url(_ path: String, host: String = "127.0.0.1") -> String {
        "https://\(host):\(port)\(path)"
    }

    // MARK: Requests and connections

    /// The protocol of each connection in order: `h2` or `http/1.1`. Connections with a failed
    /// handshake are not included.
    public var protocols: [String] { state.protocols }

    /// The number of requests that arrived.
    public var requestCount: Int { state.requests }

    /// The maximum number of connections open at the same time.
    public var mostConcurrentConnections: Int { state.mostConnections }

    /// The maximum number of requests in progress at the same time.
    public var mostConcurrentStreams: Int { state.mostStreams }

    /// The maximum number of requests in progress at the same time on one connection.
    public var mostConcurrentStreamsPerConnection: Int { state.mostStreamsOfOne }

    /// Calls `handler` for each new connection after its handshake, with the number of connections
    /// until then, including the new one.
    public func onConnection(_ handler: @escaping @Sendable (Int) -> Void) {
        state.onOpened(handler)
    }

    // MARK: Faults

    /// Makes each HTTP/2 connection send GOAWAY when its `count`th request arrives. The connection
    /// answers that request and ignores later ones. With nil, connections stay open.
    public func goAwayAfter(_ count: Int?) { state.goAway(after: count) }

    /// Answers requests for this path and query with RST_STREAM (INTERNAL_ERROR). In HTTP/1.1,
    /// closes the connection.
    public func resetStream(path: String) { state.reset(path) }

    /// Answers the first `count` requests for this path and query with RST_STREAM (REFUSED_STREAM),
    /// which permits the client to repeat them. In HTTP/1.1, closes the connection.
    public func refuseStreams(path: String, count: Int) { state.refuse(path, count) }
}
