/// An accepted connection. Its thread reads and answers requests one after the other.
struct Connection {
    private static let maximumHead = 1 << 20

    let number: Int
    let socket: Int32
    let server: OriginServer
    /// Received bytes that are not parsed yet.
    private var buffer: [UInt8] = []

    init(number: Int, socket: Int32, server: OriginServer) {
        self.number = number
        self.socket = socket
        self.server = server
    }

    mutating func serve() {
        let writer = ReplyWriter(socket: socket) { [server, number] in
            server.traffic.ended(number)
        }
        while let head = readHead(), let request = Request(head: head, connection: number) {
            server.traffic.began(number, host: request.host)
            var recorded = server.log.record(request)
            guard readBody(of: &recorded) else { return }
            guard writer.write(server.routes.reply(to: recorded), to: recorded) else { return }
        }
    }

    /// Reads the lines of the next request head; nil if the peer has left or the head is too long.
    private mutating func readHead() -> [String]? {
        while true {
            if let (lines, end) = buffer.withUnsafeBytes(MessageHead.parse) {
                buffer.removeFirst(end)
                return lines
            }
            guard buffer.count < Self.maximumHead, receive() else { return nil }
        }
    }

    /// Reads the body if `Content-Length` announces one.
    ///
    /// - Returns: False if the peer has left or ``Origin/cutBodies(_:)`` limits this body.
    private mutating func readBody(of request: inout Request) -> Bool {
        guard let length = request.header("Content-Length").flatMap({ Int($0) }), length > 0 else {
            return true
        }
        let limit = server.routes.bodyLimit(for: request) ?? .max
        if request.header("Expect")?.lowercased() == "100-continue" {
            let interim = Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)
            guard interim.withUnsafeBytes({ Socket.send(socket, $0) }) else { return false }
        }
        while buffer.count < min(length, limit), receive() {}
        if limit < length { Socket.abortOnClose(socket) }
        guard buffer.count >= length, limit >= length else { return false }
        request.body = Array(buffer.prefix(length))
        buffer.removeFirst(length)
        return true
    }

    private mutating func receive() -> Bool {
        let size = 64 << 10
        return withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { space in
            guard let count = Socket.receive(socket, into: space) else { return false }
            buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count]))
            return true
        }
    }
}
