/// One request of a client over HTTP/2, until its answer is whole.
final class FrontStream: AnswerReceiver {
    private let number: Int32
    // Unowned, because the client keeps this.
    private unowned let client: ClientConnection
    private let session: HTTP2Session
    private var origin: OriginConnection?
    private var isAnswering = true

    init(_ number: Int32, _ client: ClientConnection, _ session: HTTP2Session) {
        (self.number, self.client, self.session) = (number, client, session)
    }

    var hasRoom: Bool { session.pending(number) < 64 << 10 }

    /// Asks the origin the same in HTTP/1.1.
    func ask(_ fields: [(name: String, value: String)]) {
        func value(_ name: String) -> String { fields.first { $0.name == name }?.value ?? "" }
        var lines = ["\(value(":method")) \(value(":path")) HTTP/1.1"]
        lines.append("host: \(value(":authority"))")
        lines += fields.filter { !$0.name.hasPrefix(":") }.map { "\($0.name): \($0.value)" }
        origin = client.ask(lines.joined(separator: "\r\n") + "\r\n\r\n", for: self)
        if origin == nil { abandon() }
    }

    func take(_ parts: [AnswerParser.Part]) {
        for (index, part) in parts.enumerated() {
            switch part {
            case .head(let head):
                // These speak of the hop to the origin, and HTTP/2 forbids them.
                let hop = ["connection", "keep-alive", "transfer-encoding"]
                let fields = head.fields.filter { !hop.contains($0.name) }
                let isAll = if case .end? = parts.dropFirst(index + 1).first { true } else { false }
                // The other fields of an interim answer are of no use.
                if head.isInterim { continue }
                session.respond(number, [(":status", "\(head.status)")] + fields, hasBody: !isAll)
            case .body(let bytes):
                session.append(bytes, to: number)
            case .end:
                // Before the client can know: it may start its next request at once.
                finish()
                session.finish(number)
            }
        }
        client.flush()
    }

    func abandon() {
        finish()
        session.cut(number)
        client.flush()
    }

    /// The client wants nothing more of it.
    func cancel() {
        origin?.cancel()
        finish()
    }

    func finish() {
        if isAnswering { client.state.ended(on: client) }
        isAnswering = false
        origin = nil
    }
}
