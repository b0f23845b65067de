import LarderTestSupport

/// HTTP/1.1 with a client: one request after another.
final class HTTP1Server: FrontProtocol, AnswerReceiver {
    // Unowned, because the client keeps this.
    private unowned let client: ClientConnection
    private var input: [UInt8] = []
    private var origin: OriginConnection?
    private var isAnswering = false
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

    func take(_ parts: [AnswerParser.Part]) {
        for part in parts {
            switch part {
            case .head(let head):
                isChunked = head.isChunked
                closesAfterwards = !head.keepsConnection
                say(head.lines.joined(separator: "\r\n") + "\r\n\r\n")
            case .body(let bytes):
                if isChunked { say(String(bytes.count, radix: 16) + "\r\n") }
                client.write(bytes)
                if isChunked { say("\r\n") }
            case .end:
                // Before the client can know: it may start its next request at once.
                finish()
                if isChunked { say("0\r\n\r\n") }
                if closesAfterwards { client.leave() } else { serveNext() }
            }
        }
        client.flush()
    }

    func abandon() {
        finish()
        client.leave()
        client.flush()
    }

    private func serveNext() {
        guard !isAnswering, let (lines, end) = input.withUnsafeBytes(MessageHead.parse) else {
            return
        }
        input.removeFirst(end)
        isAnswering = true
        let words = lines[0].split(separator: " ")
        switch client.state.began(words.count > 1 ? String(words[1]) : "", on: client) {
        case .reset: abandon()
        case .relayed, .relayedAsLast:
            origin = client.ask(lines.joined(separator: "\r\n") + "\r\n\r\n", for: self)
            if origin == nil { abandon() }
        }
    }

    private func finish() {
        if isAnswering { client.state.ended(on: client) }
        isAnswering = false
        origin = nil
    }

    private func say(_ text: String) { client.write(Array(text.utf8)) }
}
