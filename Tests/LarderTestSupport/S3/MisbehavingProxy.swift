import Foundation
import Synchronization

/// A reverse proxy for a server that counts requests and misbehaves on demand.
///
///     let proxy = try MisbehavingProxy(to: server.endpoint)
///     proxy.misbehave { request, forward in
///         request.attempt == 1 ? .slowDown : forward(request).cut(after: 100)
///     }
///
/// It buffers whole messages: it forwards a request, and then its response, when they are complete.
public final class MisbehavingProxy: Sendable {
    /// Returns the reply to a request, or nil to forward it. A handler can call `forward` and
    /// change the server's reply.
    public typealias Handler =
        @Sendable (_ request: Request, _ forward: (Request) -> Reply) -> Reply?

    /// The listener. Tests use it to wait for requests, count connections and cut bodies.
    public let origin: Origin
    private let handler = Handlers()
    private let forwarded = DispatchGroup()

    /// Starts listening.
    ///
    /// - Parameter endpoint: The server's URL, such as `http://127.0.0.1:9000`.
    public init(to endpoint: String) throws {
        let port = UInt16(endpoint.split(separator: ":").last ?? "") ?? 0
        origin = try Origin()
        origin.onAny { [handler, forwarded] request in
            func forward(_ request: Request) -> Reply {
                forwarded.enter()
                defer { forwarded.leave() }
                return Self.forward(request, toPort: port)
            }
            return handler.current(request, forward) ?? forward(request)
        }
    }

    /// The proxy's URL, to use in place of the server's.
    public var endpoint: String { origin.baseURL }

    /// Passes later requests to `handler`. Without a handler, the proxy only forwards.
    public func misbehave(_ handler: @escaping Handler) { self.handler.set(handler) }

    /// Waits until the server has answered all forwarded requests.
    ///
    /// A server that was suspended still completes uploads that the client has given up.
    public func settle() async {
        await withCheckedContinuation { continuation in
            forwarded.notify(queue: .global()) { continuation.resume() }
        }
    }

    /// Returns the number of requests with this method since the last ``Origin/resetLog()``.
    public func count(_ method: String) -> Int {
        origin.requests.count { $0.method == method }
    }

    /// Returns the number of requests with this method whose target contains `part`.
    public func count(_ method: String, _ part: String) -> Int {
        origin.requests.count { $0.method == method && $0.target.contains(part) }
    }

    // MARK: Forwarding

    private static func forward(_ request: Request, toPort port: UInt16) -> Reply {
        guard let server = try? Socket.connect(toPort: port) else { return .lost }
        defer { close(server) }
        // The signature covers the host, but none of these headers.
        let fields = request.headers
            .filter { !["connection", "expect", "content-length"].contains($0.name.lowercased()) }
            .map { "\($0.name): \($0.value)\r\n" }
        let head =
            "\(request.method) \(request.target) HTTP/1.1\r\n\(fields.joined())"
            + "Content-Length: \(request.body.count)\r\nConnection: close\r\n\r\n"
        let message = Array(head.utf8) + request.body
        guard message.withUnsafeBytes({ Socket.send(server, $0) }) else { return .lost }
        return response(from: server) ?? .lost
    }

    private static func response(from server: Int32) -> Reply? {
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 64 << 10, alignment: 1) { space in
            while let count = Socket.receive(server, into: space) {
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count]))
            }
        }
        guard let (lines, end) = bytes.withUnsafeBytes(MessageHead.parse),
            let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) })
        else { return nil }
        let fields = lines.dropFirst().compactMap { line -> (name: String, value: String)? in
            guard let colon = line.firstIndex(of: ":") else { return nil }
            let value = line[line.index(after: colon)...].drop { $0 == " " }
            return (String(line[..<colon]), String(value))
        }
        func isChunked(_ field: (name: String, value: String)) -> Bool {
            field.name.lowercased() == "transfer-encoding" && field.value.lowercased() == "chunked"
        }
        var body = bytes[end...]
        if fields.contains(where: isChunked) { body = unchunked(body) }
        var reply = Reply.ok(body).status(status)
        reply.headers = fields.filter {
            !["connection", "keep-alive", "transfer-encoding"].contains($0.name.lowercased())
        }
        return reply
    }

    private static func unchunked(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        var body: [UInt8] = []
        while let line = rest.firstIndex(of: 10),
            let size = Int(
                String(decoding: rest[..<line].prefix { $0 != 13 && $0 != 59 }, as: UTF8.self),
                radix: 16), size > 0
        {
            body += rest[(line + 1)...].prefix(size)
            rest = rest[(line + 1)...].dropFirst(size + 2)
        }
        return body[...]
    }
}

private final class Handlers: Sendable {
    /// Boxes the closure. Reading a bare closure from a Mutex wraps it in another thunk, because
    /// generic code uses a different calling convention. After thousands of reads the stack
    /// overflows.
    private struct Box { var handler: MisbehavingProxy.Handler }

    private let box = Mutex(Box { _, _ in nil })

    func set(_ new: @escaping MisbehavingProxy.Handler) { box.withLock { $0.handler = new } }

    func current(_ request: Request, _ forward: (Request) -> Reply) -> Reply? {
        box.withLock { $0.handler }(request, forward)
    }
}
