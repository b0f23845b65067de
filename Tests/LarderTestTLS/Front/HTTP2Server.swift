import CNghttp2

/// HTTP/2 with a client.
final class HTTP2Server: FrontProtocol {
    // Unowned, because the client keeps this.
    private unowned let client: ClientConnection
    private let session: HTTP2Session
    private var streams: [Int32: FrontStream] = [:]
    /// The last stream that is served, once the client has been told to go away.
    private var lastStream = Int32.max

    init(_ client: ClientConnection) throws {
        (self.client, session) = (client, try HTTP2Session(isServer: true))
    }

    func receive(_ bytes: [UInt8]) {
        if !session.receive(bytes) { client.leave() }
        handleEvents()
    }

    func takeOutgoing() -> [UInt8] {
        let bytes = session.takeOutgoing()
        handleEvents()
        if session.isOver { client.leave() }
        return bytes
    }

    func end() {
        for stream in streams.values { stream.cancel() }
        streams = [:]
    }

    private func handleEvents() {
        for event in session.takeEvents() {
            switch event {
            case .headers(let stream, let fields):
                if streams[stream] == nil, stream <= lastStream { serve(stream, fields) }
            case .closed(let stream):
                streams.removeValue(forKey: stream)?.cancel()
            // A request's body, which no test sends.
            case .data, .ended: break
            }
        }
    }

    private func serve(_ stream: Int32, _ fields: [(name: String, value: String)]) {
        let path = fields.first { $0.name == ":path" }?.value ?? ""
        let answered = FrontStream(stream, client, session)
        switch client.state.began(path, on: client) {
        case .reset:
            answered.finish()
            return session.reset(stream, NGHTTP2_INTERNAL_ERROR)
        case .relayedAsLast:
            lastStream = stream
            session.goAway(after: stream)
        case .relayed: break
        }
        streams[stream] = answered
        answered.ask(fields)
    }
}
