/// One accepted connection: reads requests and answers them, one after the other, in its thread.
struct Connection {
    private static let maximumHead = 1 << 20

    let number: Int
    let socket: Int32
    let server: OriginServer
    /// Received and not yet read.
    private var buffer: [UInt8] = []

    init(number: Int, socket: Int32, server: OriginServer) {
        self.number = number
        self.socket = socket
        self.server = server
    }

    /// Returns when either side has had enough.
    mutating func serve() {
        let writer = ReplyWriter(socket: socket) { [server, number] in
            server.traffic.ended(number)
        }
        while let head = readHead(), let request = Request(head: head, connection: number) {
            server.traffic.began(number, host: request.host)
            let recorded = server.log.record(request)
            guard writer.write(server.routes.reply(to: recorded), to: recorded) else { return }
        }
    }

    /// The lines up to the next empty one; nil where the peer has left.
    private mutating func readHead() -> [String]? {
        while true {
            if let (lines, end) = buffer.withUnsafeBytes(MessageHead.parse) {
                buffer.removeFirst(end)
                return lines
            }
            guard buffer.count < Self.maximumHead, receive() else { return nil }
        }
    }

    private mutating func receive() -> Bool {
        let size = 16 << 10
        return withUnsafeTemporaryAllocation(byteCount: size, alignment: 1) { space in
            guard let count = Socket.receive(socket, into: space) else { return false }
            buffer.append(contentsOf: UnsafeRawBufferPointer(rebasing: space[..<count]))
            return true
        }
    }
}
