import Foundation
import LarderTestSupport
import LarderTestTLS

/// What a client and a front say to each other.
struct TLSConversation {
    typealias Answer = (status: Int, body: String)

    enum Failure: Error {
        /// The ends have agreed on nothing.
        case handshake
        /// The connection or the stream ended before the answer was whole.
        case ended
    }

    private struct Request {
        var status = 0
        var body: [UInt8] = []
        let answer: CheckedContinuation<Answer, any Error>
    }

    private let socket: Int32
    private let tls: TLSStream
    /// Nil where HTTP/1.1 was agreed on.
    private let session: HTTP2Session?
    private var parser = AnswerParser()
    /// By stream; HTTP/1.1's only one is 0.
    private var requests: [Int32: Request] = [:]
    private var isEnded = false

    /// Shakes hands.
    init(_ socket: Int32, _ context: TLSContext) throws {
        (self.socket, tls) = (socket, try TLSStream(context))
        var handshake = tls.handshake()
        while true {
            _ = Socket.sendSome(socket, tls.takeOutgoing())
            guard handshake == .going, let bytes = Self.receive(socket) else { break }
            tls.receive(bytes)
            handshake = tls.handshake()
        }
        guard handshake == .done else { throw Failure.handshake }
        session = tls.agreed == "h2" ? try HTTP2Session(isServer: false) : nil
        flush()
    }

    mutating func ask(_ path: String, _ answer: CheckedContinuation<Answer, any Error>) {
        guard !isEnded else { return answer.resume(throwing: Failure.ended) }
        if let session {
            let stream = session.request([
                (":method", "GET"), (":scheme", "https"), (":authority", "127.0.0.1"),
                (":path", path),
            ])
            guard stream > 0 else { return answer.resume(throwing: Failure.ended) }
            requests[stream] = Request(answer: answer)
        } else {
            tls.write(Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".utf8))
            requests[0] = Request(answer: answer)
        }
        flush()
    }

    mutating func take(_ bytes: [UInt8]) {
        tls.receive(bytes)
        let said = tls.read()
        if let session {
            if !session.receive(said) { abandon() }
        } else {
            for part in parser.parse(said) ?? [] { take(part) }
        }
        flush()
    }

    /// Ends the connection, so that whoever reads comes to its end.
    func leave() {
        // From then on, the descriptor may be another's.
        if !isEnded { Socket.shutDown(socket) }
    }

    /// The connection is over, and nobody reads any more.
    mutating func end() {
        isEnded = true
        close(socket)
        abandon()
    }

    private mutating func abandon() {
        for request in requests.values { request.answer.resume(throwing: Failure.ended) }
        requests = [:]
    }

    /// Some bytes, once there are any; nil at the end.
    static func receive(_ socket: Int32) -> [UInt8]? {
        var isAtEnd = false
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            let received = Socket.receiveSome(socket, into: UnsafeMutableRawBufferPointer(buffer))
            isAtEnd = received == nil
            count = received ?? 0
        }
        return isAtEnd ? nil : bytes
    }

    private mutating func take(_ event: HTTP2Session.Event) {
        switch event {
        case .headers(let stream, let fields):
            let status = fields.first { $0.name == ":status" }?.value
            requests[stream]?.status = status.flatMap { Int($0) } ?? 0
        case .data(let stream, let bytes): requests[stream]?.body += bytes
        case .ended(let stream): answer(stream)
        case .closed(let stream):
            requests.removeValue(forKey: stream)?.answer.resume(throwing: Failure.ended)
        }
    }

    private mutating func take(_ part: AnswerParser.Part) {
        switch part {
        case .head(let head): requests[0]?.status = head.status
        case .body(let bytes): requests[0]?.body += bytes
        case .end: answer(0)
        }
    }

    private mutating func answer(_ stream: Int32) {
        guard let request = requests.removeValue(forKey: stream) else { return }
        let body = String(decoding: request.body, as: UTF8.self)
        request.answer.resume(returning: (request.status, body))
    }

    private mutating func flush() {
        while let bytes = session?.takeOutgoing(), !bytes.isEmpty { tls.write(bytes) }
        _ = Socket.sendSome(socket, tls.takeOutgoing())
        for event in session?.takeEvents() ?? [] { take(event) }
    }
}
