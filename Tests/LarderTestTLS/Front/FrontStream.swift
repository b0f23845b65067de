/// A client's HTTP/2 request, until its response is complete.
final class FrontStream: ResponseReceiver {
    private let number: Int32
    // Unowned, because the client owns this object.
    private unowned let client: ClientConnection
    private let session: HTTP2Session
    private var origin: OriginConnection?
    private var isInProgress = true

    init(_ number: Int32, _ client: ClientConnection, _ session: HTTP2Session) {
        (self.number, self.client, self.session) = (number, client, session)
    }

    var hasRoom: Bool { session.pending(number) < 64 << 10 }

    /// Forwards the request to the origin in HTTP/1.1.
    func forward(_ fields: [(name: String, value: String)]) {
        func value(_ name: String) -> String { fields.first { $0.name == name }?.value ?? "" }
        var lines = ["\(value(":method")) \(value(":path")) HTTP/1.1"]
        lines.append("host: \(value(":authority"))")
        lines += fields.filter { !$0.name.hasPrefix(":") }.map { "\($0.name): \($0.value)" }
        origin = client.forward(lines.joined(separator: "\r\n") + "\r\n\r\n", for: self)
        if origin == nil { abandon() }
    }

    func receive(_ parts: [ResponseParser.Part]) {
        for (index, part) in parts.enumerated() {
            switch part {
            case .head(let head):
                // These fields apply to the connection to the origin, and HTTP/2 forbids them.
                let hop = ["connection", "keep-alive", "transfer-encoding"]
                let fields = head.fields.filter { !hop.contains($0.name) }
                let isAll = if case .end? = parts.dropFirst(index + 1).first { true } else { false }
                // Interim responses are dropped.
                if head.isInterim { continue }
                session.respond(number, [(":status", "\(head.status)")] + fields, hasBody: !isAll)
            case .body(let bytes):
                session.append(bytes, to: number)
            case .end:
                // Finishes before the client sees the end, because it can start its next request at
                // once.
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

    func cancel() {
        origin?.cancel()
        finish()
    }

    func finish() {
        if isInProgress { client.state.ended(on: client) }
        isInProgress = false
        origin = nil
    }
}
