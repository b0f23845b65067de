import Foundation
import LarderTestSupport

/// A client's connection: TLS, and the negotiated protocol on top of it.
final class ClientConnection: Polled {
    let socket: Int32
    private(set) var isOver = false
    // Unowned, because the loop owns this object and outlives it.
    private unowned let loop: FrontLoop
    private let tls: TLSStream
    private var server: (any FrontProtocol)?
    private var unsent: [UInt8] = []
    private var isClosing = false

    init(_ socket: Int32, _ loop: FrontLoop, _ context: TLSContext) throws {
        (self.socket, self.loop, tls) = (socket, loop, try TLSStream(context))
    }

    var state: FrontState { loop.state }

    /// Whether the send buffer has room for more data.
    var hasRoom: Bool { unsent.count < 64 << 10 }

    var interest: Int32 { unsent.isEmpty ? POLLIN : POLLIN | POLLOUT }

    func ready(_ events: Int32) {
        if Self.isReadable(events) { receive() }
        flush()
    }

    func forward(_ request: String, for receiver: any ResponseReceiver) -> OriginConnection? {
        loop.forward(request, for: receiver)
    }

    func write(_ bytes: [UInt8]) {
        tls.write(bytes)
        unsent += tls.takeOutgoing()
    }

    /// Closes the connection once all bytes are sent.
    func closeAfterSending() { isClosing = true }

    /// Sends as many bytes as the socket accepts.
    func flush() {
        while !isOver {
            if let server, hasRoom { write(server.takeOutgoing()) }
            if unsent.isEmpty, isClosing {
                isClosing = false
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
        guard let bytes = Socket.receiveSome(socket) else { return end() }
        tls.receive(bytes)
        if server == nil { continueHandshake() }
        if let server {
            let received = tls.read()
            if !received.isEmpty { server.receive(received) }
            if tls.isOver { closeAfterSending() }
        }
        unsent += tls.takeOutgoing()
    }

    private func continueHandshake() {
        switch tls.handshake() {
        case .inProgress: break
        case .failed: isClosing = true
        case .done:
            let name = tls.negotiatedProtocol ?? TLSFront.ApplicationProtocol.http1.rawValue
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
