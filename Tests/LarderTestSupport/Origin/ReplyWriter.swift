import Foundation

/// A writer that sends one reply, including its faults, over a socket.
struct ReplyWriter {
    let socket: Int32
    /// Called just before the bytes that end the exchange. Otherwise a peer that starts its next
    /// request immediately would be counted twice.
    let willEnd: () -> Void

    /// Sends the reply; true if the connection can carry another request.
    func write(_ reply: Reply, to request: Request) -> Bool {
        if reply.delay > 0, !Socket.pause(socket, seconds: reply.delay) { return false }
        if let gate = reply.gate, !Socket.pause(socket, until: gate) { return false }
        if let raw = reply.raw {
            willEnd()
            _ = send(raw)
            if reply.ending == .reset { Socket.abortOnClose(socket) }
            return false
        }
        let keepsAlive = reply.keepsAlive && !request.closesConnection
        let head = Array(reply.head(saysClose: !keepsAlive && reply.limit == nil).utf8)
        guard reply.mayHaveBody, request.method != "HEAD" else {
            willEnd()
            return send(head) && keepsAlive
        }
        guard writeBody(of: reply, after: head) else { return false }
        switch reply.ending {
        case .keepAlive: return keepsAlive
        case .close: break
        case .reset: Socket.abortOnClose(socket)
        case .stall: _ = Socket.pause(socket, seconds: nil)
        }
        return false
    }

    /// Sends the body. The first piece is sent together with the head, so that a small reply is one
    /// packet.
    private func writeBody(of reply: Reply, after head: [UInt8]) -> Bool {
        var pending = head
        var allowance = reply.limit ?? .max
        var pieces = BodyPieces(of: reply)
        while let piece = pieces.next() {
            let sent = piece.prefix(allowance)
            allowance -= sent.count
            let isCut = reply.limit != nil && (allowance == 0 || pieces.isAtEnd)
            if reply.isChunked {
                if !piece.isEmpty { pending += "\(String(piece.count, radix: 16))\r\n".utf8 }
                pending += sent
                if !isCut {
                    if !piece.isEmpty { pending += "\r\n".utf8 }
                    if pieces.isAtEnd { pending += "0\r\n\r\n".utf8 }
                }
            } else {
                pending += sent
            }
            if (isCut || pieces.isAtEnd) && reply.ending != .stall { willEnd() }
            guard send(pending) else { return false }
            if isCut { break }
            pending.removeAll(keepingCapacity: true)
            if let trickle = reply.trickle, !pieces.isAtEnd {
                guard Socket.pause(socket, seconds: trickle.seconds) else { return false }
            }
        }
        return true
    }

    private func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { Socket.send(socket, $0) }
    }
}

/// The pieces of a body. There is at least one, which is empty if the body is empty.
private struct BodyPieces {
    private let reply: Reply
    private var sizes: ArraySlice<Int>
    private var position = 0
    private(set) var isAtEnd = false

    init(of reply: Reply) {
        self.reply = reply
        if case .chunked(let sizes) = reply.framing { self.sizes = sizes[...] } else { sizes = [] }
    }

    mutating func next() -> ArraySlice<UInt8>? {
        guard !isAtEnd else { return nil }
        let size = reply.trickle?.bytes ?? sizes.popFirst() ?? .max
        let piece = reply.body[position...].prefix(max(1, size))
        position = piece.endIndex
        if reply.repeatsBody {
            if position == reply.body.endIndex { position = 0 }
        } else {
            isAtEnd = position == reply.body.endIndex
        }
        return piece
    }
}

extension Reply {
    fileprivate var isChunked: Bool {
        if case .chunked = framing { true } else { false }
    }

    /// Whether a body may follow the head (RFC 9110, section 6.4.1).
    fileprivate var mayHaveBody: Bool { status >= 200 && status != 204 && status != 304 }

    fileprivate var keepsAlive: Bool {
        guard ending == .keepAlive else { return false }
        guard mayHaveBody else { return true }
        switch framing {
        case .length(let announced): return !repeatsBody && (announced ?? body.count) == body.count
        case .chunked: return !repeatsBody
        case .untilClose: return false
        }
    }

    fileprivate func head(saysClose: Bool) -> String {
        var head = "HTTP/1.1 \(status) \(Reply.reason(status))\r\n"
        func has(_ name: String) -> Bool { headers.contains { $0.name.lowercased() == name } }
        func add(_ name: String, _ value: String) { head += "\(name): \(value)\r\n" }
        if !omitsDate, !has("date") { add("Date", HTTPDate.string(from: Date())) }
        for header in headers { add(header.name, header.value) }
        if mayHaveBody {
            switch framing {
            case .length(let announced):
                if !has("content-length") { add("Content-Length", "\(announced ?? body.count)") }
            case .chunked: add("Transfer-Encoding", "chunked")
            case .untilClose: break
            }
        }
        if saysClose { add("Connection", "close") }
        return head + "\r\n"
    }

    static func reason(_ status: Int) -> String {
        switch status {
        case 200: "OK"
        case 204: "No Content"
        case 206: "Partial Content"
        case 301: "Moved Permanently"
        case 302: "Found"
        case 303: "See Other"
        case 304: "Not Modified"
        case 307: "Temporary Redirect"
        case 308: "Permanent Redirect"
        case 400: "Bad Request"
        case 403: "Forbidden"
        case 404: "Not Found"
        case 410: "Gone"
        case 429: "Too Many Requests"
        case 500: "Internal Server Error"
        case 502: "Bad Gateway"
        case 503: "Service Unavailable"
        default: "Status"
        }
    }
}
