import LarderTestSupport

/// The server side of an HTTP/1.1 connection. It answers one request after another.
final class HTTP1Server: FrontProtocol, ResponseReceiver {
    // Unowned, because the client owns this object.
    private unowned let client: ClientConnection
    private var input: [UInt8] = []
    private var origin: OriginConnection?
    private var isInProgress = false
    private var isChunked = false
    private var closesAfterwards = false

    init(_ client: ClientConnection) { self.client = client }

    var hasRoom: Bool { client.hasRoom }

    func receive(_ bytes: [UInt8]) {
        input += bytes
        serveNext()
    }

    func takeOutgoing() -> [UInt8] { [] }

    func end() {
        origin?.cancel()
        finish()
    }

    func receive(_ parts: [ResponseParser.Part]) {
        for part in parts {
            switch part {
            case .head(let head):
                isChunked = head.isChunked
                closesAfterwards = !head.keepsConnection
                write(head.lines.joined(separator: "\r\n") + "\r\n\r\n")
            case .body(let bytes):
                if isChunked { write(String(bytes.count, radix: 16) + "\r\n") }
                client.write(bytes)
                if isChunked { write("\r\n") }
            case .end:
                // Finishes before the client sees the end, because it can start its next request at
                // once.
                finish()
                if isChunked { write("0\r\n\r\n") }
                if closesAfterwards { client.closeAfterSending() } else { serveNext() }
            }
        }
        client.flush()
    }

    func abandon() {
        finish()
        client.closeAfterSending()
        client.flush()
    }

    private func serveNext() {
        guard !isInProgress, let (lines, end) = input.withUnsafeBytes(MessageHead.parse) else {
            return
        }
        input.removeFirst(end)
        isInProgress = true
        let words = lines[0].split(separator: " ")
        switch client.state.began(words.count > 1 ? String(words[1]) : "", on: client) {
        case .reset, .refuse: abandon()
        case .relay, .relayAsLast:
            origin = client.forward(lines.joined(separator: "\r\n") + "\r\n\r\n", for: self)
            if origin == nil { abandon() }
        }
    }

    private func finish() {
        if isInProgress { client.state.ended(on: client) }
        isInProgress = false
        origin = nil
    }

    private func write(_ text: String) { client.write(Array(text.utf8)) }
}
