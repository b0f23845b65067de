import Foundation
import Synchronization

/// A forward proxy on the loopback interface: `GET http://host:port/path` and `CONNECT host:port`.
///
/// It resolves no names. It connects to 127.0.0.1 with the port of the request, so hosts need not
/// exist. It records every request with its headers.
public final class ForwardProxy: Sendable {
    /// The port on 127.0.0.1, chosen by the kernel.
    public let port: UInt16
    private let listener: Int32
    private let stopping: Gate
    private let log = Mutex<[Request]>([])
    private let refusal: Mutex<Int?>

    /// Starts listening.
    ///
    /// - Parameter refusal: The status with which to answer every request, or nil to relay them.
    public init(refusingWith refusal: Int? = nil) throws {
        self.refusal = Mutex(refusal)
        stopping = try Gate()
        listener = try Socket.bound(to: .ipv4, port: 0)
        port = try Socket.port(of: listener)
        try Socket.listen(listener, backlog: SOMAXCONN)
        // The thread does not retain the proxy, because releasing the proxy must end the thread.
        startThread { [listener, stopping, weak self] in
            while Socket.firstReadable([stopping.descriptor, listener]) == 1 {
                guard let client = Socket.accept(listener) else { continue }
                guard let self else {
                    close(client)
                    break
                }
                startThread { [weak self] in
                    self?.serve(client)
                    close(client)
                }
            }
            close(listener)
        }
    }

    deinit { stopping.open() }

    /// Returns the URL of the proxy, such as `http://127.0.0.1:43211`, with `user` if given.
    public func url(user: String? = nil, scheme: String = "http") -> String {
        "\(scheme)://\(user.map { "\($0)@" } ?? "")127.0.0.1:\(port)"
    }

    /// All requests in order of arrival. A target is an absolute URL, or a host and port.
    public var requests: [Request] { log.withLock { $0 } }

    // MARK: Connections

    private func serve(_ client: Int32) {
        guard let (head, rest) = Self.readHead(client),
            let request = Request(head: head, connection: 0)
        else { return }
        log.withLock { $0.append(request) }
        if let status = refusal.withLock({ $0 }) {
            return Self.send(
                client,
                "HTTP/1.1 \(status) No\r\nProxy-Authenticate: Basic realm=\"x\"\r\n"
                    + "Content-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let isTunnel = request.method == "CONNECT"
        guard let target = URLComponents(string: isTunnel ? "//\(request.target)" : request.target),
            let server = try? Socket.connect(toPort: UInt16(target.port ?? 80))
        else { return Self.send(client, "HTTP/1.1 502 Unreachable\r\nContent-Length: 0\r\n\r\n") }
        defer { close(server) }
        if isTunnel {
            Self.send(client, "HTTP/1.1 200 Connection established\r\nX-Proxy: this\r\n\r\n")
        } else {
            let fields = request.headers.filter { !$0.name.lowercased().hasPrefix("proxy-") }
                .map { "\($0.name): \($0.value)\r\n" }
            let path = request.target.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" }
            Self.send(
                server,
                "\(request.method) \(path.isEmpty ? "/" : path) HTTP/1.1\r\n"
                    + fields.joined() + "Connection: close\r\n\r\n")
        }
        _ = rest.withUnsafeBytes { Socket.send(server, $0) }
        relay(client, server)
    }

    /// Copies bytes in both directions until either side closes its connection.
    private func relay(_ client: Int32, _ server: Int32) {
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { space in
            while let index = Socket.firstReadable([stopping.descriptor, client, server]), index > 0
            {
                let (from, to) = index == 1 ? (client, server) : (server, client)
                guard let count = Socket.receive(from, into: space),
                    Socket.send(to, UnsafeRawBufferPointer(rebasing: space[..<count]))
                else { return }
            }
        }
    }

    private static func readHead(_ client: Int32) -> (lines: [String], rest: [UInt8])? {
        var buffer: [UInt8] = []
        return withUnsafeTemporaryAllocation(byteCount: 16 << 10, alignment: 1) { space in
            while let count = Socket.receive(client, into: space) {
                buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count]))
                if let (lines, end) = buffer.withUnsafeBytes(MessageHead.parse) {
                    return (lines, Array(buffer[end...]))
                }
            }
            return nil
        }
    }

    private static func send(_ socket: Int32, _ text: String) {
        _ = Array(text.utf8).withUnsafeBytes { Socket.send(socket, $0) }
    }
}
