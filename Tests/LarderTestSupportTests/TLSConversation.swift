import Foundation
import LarderTestSupport
import LarderTestTLS

/// A client's side of a connection to a front.
struct TLSConversation {
    typealias Response = (status: Int, body: String)

    enum Failure: Error {
        case handshake
        /// The connection or the stream ended before the response was complete.
        case ended
    }

    private struct Request {
        var status = 0
        var body: [UInt8] = []
        let continuation: CheckedContinuation<Response, any Error>
    }

    private let socket: Int32
    private let tls: TLSStream
    /// The HTTP/2 session; nil with HTTP/1.1.
    private let session: HTTP2Session?
    private var parser = ResponseParser()
    /// The requests in progress by stream. The request of HTTP/1.1 has the number 0.
    private var requests: [Int32: Request] = [:]
    private var isEnded = false

    init(_ socket: Int32, _ context: TLSContext) throws {
        (self.socket, tls) = (socket, try TLSStream(context))
        var handshake = tls.handshake()
        while true {
            _ = Socket.sendSome(socket, tls.takeOutgoing())
            guard handshake == .inProgress, let bytes = Socket.receiveSome(socket) else { break }
            tls.receive(bytes)
            handshake = tls.handshake()
        }
        guard handshake == .done else { throw Failure.handshake }
        session = tls.negotiatedProtocol == "h2" ? try HTTP2Session(isServer: false) : nil
        flush()
    }

    mutating func get(
        _ path: String, _ continuation: CheckedContinuation<Response, any Error>
    ) {
        guard !isEnded else { return continuation.resume(throwing: Failure.ended) }
        if let session {
            let stream = session.request([
                (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"),
                (":path", path),
            ])
            guard stream > 0 else { return continuation.resume(throwing: Failure.ended) }
            requests[stream] = Request(continuation: continuation)
        } else {
            tls.write(Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8))
            requests[0] = Request(continuation: continuation)
        }
        flush()
    }

    mutating func receive(_ bytes: [UInt8]) {
        tls.receive(bytes)
        let received = tls.read()
        if let session {
            if !session.receive(received) { abandon() }
        } else {
            for part in parser.parse(received) ?? [] { handle(part) }
        }
        flush()
    }

    /// Shuts down the connection, so that the reading thread ends.
    func shutDown() {
        // The descriptor can be reused after `end()`.
        if !isEnded { Socket.shutDown(socket) }
    }

    /// Closes the socket. The reading thread calls this last.
    mutating func end() {
        isEnded = true
        close(socket)
        abandon()
    }

    private mutating func abandon() {
        for request in requests.values { request.continuation.resume(throwing: Failure.ended) }
        requests = [:]
    }

    private mutating func handle(_ event: HTTP2Session.Event) {
        switch event {
        case .headers(let stream, let fields):
            let status = fields.first { $0.name == ":status" }?.value
            requests[stream]?.status = status.flatMap { Int($0) } ?? 0
        case .data(let stream, let bytes): requests[stream]?.body += bytes
        case .ended(let stream): complete(stream)
        case .closed(let stream):
            requests.removeValue(forKey: stream)?.continuation.resume(throwing: Failure.ended)
        }
    }

    private mutating func handle(_ part: ResponseParser.Part) {
        switch part {
        case .head(let head): requests[0]?.status = head.status
        case .body(let bytes): requests[0]?.body += bytes
        case .end: complete(0)
        }
    }

    private mutating func complete(_ stream: Int32) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        let body = String(decoding: request.body, as: UTF8.self)
        request.continuation.resume(returning: (request.status, body))
    }

    private mutating func flush() {
        while let bytes = session?.takeOutgoing(), !bytes.isEmpty { tls.write(bytes) }
        _ = Socket.sendSome(socket, tls.takeOutgoing())
        for event in session?.takeEvents() ?? [] { handle(event) }
    }
}
