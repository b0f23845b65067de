import Foundation
import LarderTestSupport

/// A connection to the origin. It sends one request and streams the response, no faster than the
/// client accepts it.
final class OriginConnection: Polled {
    let socket: Int32
    private(set) var isOver = false
    private var unsent: [UInt8]
    private var parser = ResponseParser()
    // Weak, because the receiver owns this object.
    private weak var receiver: (any ResponseReceiver)?

    /// Starts connecting; nil if no descriptor is free.
    init?(port: UInt16, request: String, for receiver: any ResponseReceiver) {
        guard let socket = try? Socket.startConnecting(toPort: port) else { return nil }
        (self.socket, self.receiver, unsent) = (socket, receiver, Array(request.utf8))
    }

    var interest: Int32 {
        if !unsent.isEmpty { return POLLOUT }
        return receiver?.hasRoom == true ? POLLIN : 0
    }

    func ready(_ events: Int32) {
        guard unsent.isEmpty else { return send() }
        if Self.isReadable(events) { receive() }
    }

    func cancel() { isOver = true }

    private func send() {
        guard let count = Socket.sendSome(socket, unsent) else { return abandon() }
        unsent.removeFirst(count)
    }

    private func receive() {
        let bytes = Socket.receiveSome(socket)
        let parsed = if let bytes { parser.parse(bytes) } else { parser.end() }
        guard let parts = parsed else { return abandon() }
        if case .end? = parts.last { isOver = true }
        if !parts.isEmpty { receiver?.receive(parts) }
    }

    private func abandon() {
        isOver = true
        receiver?.abandon()
    }
}
