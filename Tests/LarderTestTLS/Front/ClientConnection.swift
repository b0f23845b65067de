import LarderTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A client's connection: TLS, and above it the protocol that was agreed on.
final class ClientConnection: Polled {
    let socket: Int32
    private(set) var isOver = false
    // Unowned, because the loop keeps this, and outlives it.
    private unowned let loop: FrontLoop
    private let tls: TLSStream
    private var server: (any FrontProtocol)?
    private var unsent: [UInt8] = []
    /// Whether the connection ends once everything is sent.
    private var isLeaving = false

    init(_ socket: Int32, _ loop: FrontLoop, _ context: TLSContext) throws {
        (self.socket, self.loop, tls) = (socket, loop, try TLSStream(context))
    }

    var state: FrontState { loop.state }

    /// Whether what waits to be sent leaves room for more.
    var hasRoom: Bool { unsent.count < 64 << 10 }

    var interest: Int32 { unsent.isEmpty ? POLLIN : POLLIN | POLLOUT }

    func ready(_ events: Int32) {
        if Self.isReadable(events) { receive() }
        flush()
    }

    /// Asks the origin.
    func ask(_ request: String, for receiver: any AnswerReceiver) -> OriginConnection? {
        loop.ask(request, for: receiver)
    }

    func write(_ bytes: [UInt8]) {
        tls.write(bytes)
        unsent += tls.takeOutgoing()
    }

    /// Says goodbye once everything is sent.
    func leave() { isLeaving = true }

    /// Sends as much as the client takes.
    func flush() {
        while !isOver {
            if let server, hasRoom { write(server.takeOutgoing()) }
            if unsent.isEmpty, isLeaving {
                isLeaving = false
                tls.close()
                unsent += tls.takeOutgoing()
                _ = Socket.sendSome(socket, unsent)
                return end()
            }
            guard !unsent.isEmpty else { return }
            guard let count = Socket.sendSome(socket, unsent) else { return end() }
            unsent.removeFirst(count)
            if count == 0 { return }
        }
    }

    private func receive() {
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            let received = Socket.receiveSome(socket, into: UnsafeMutableRawBufferPointer(buffer))
            if received == nil { end() }
            count = received ?? 0
        }
        guard !isOver else { return }
        tls.receive(bytes)
        if server == nil { shakeHands() }
        if let server {
            let said = tls.read()
            if !said.isEmpty { server.receive(said) }
            if tls.isOver { leave() }
        }
        unsent += tls.takeOutgoing()
    }

    private func shakeHands() {
        switch tls.handshake() {
        case .going: break
        case .failed: isLeaving = true
        case .done:
            let name = tls.agreed ?? TLSFront.ApplicationProtocol.http1.rawValue
            server =
                name == TLSFront.ApplicationProtocol.http2.rawValue
                ? try? HTTP2Server(self) : HTTP1Server(self)
            state.opened(self, protocol: name)
        }
    }

    private func end() {
        isOver = true
        server?.end()
        server = nil
        state.closed(self)
    }
}
