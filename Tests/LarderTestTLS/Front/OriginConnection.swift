import LarderTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A connection to the origin: sends one request and hands the answer over as it comes, no faster
/// than the client takes it.
final class OriginConnection: Polled {
    let socket: Int32
    private(set) var isOver = false
    private var unsent: [UInt8]
    private var parser = AnswerParser()
    // Weak, because the receiver keeps this.
    private weak var receiver: (any AnswerReceiver)?

    /// Nil where there is no descriptor left.
    init?(port: UInt16, request: String, for receiver: any AnswerReceiver) {
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

    /// The answer is not wanted any more.
    func cancel() { isOver = true }

    private func send() {
        guard let count = Socket.sendSome(socket, unsent) else { return abandon() }
        unsent.removeFirst(count)
    }

    private func receive() {
        var isAtEnd = false
        let bytes = [UInt8](unsafeUninitializedCapacity: 64 << 10) { buffer, count in
            let received = Socket.receiveSome(socket, into: UnsafeMutableRawBufferPointer(buffer))
            isAtEnd = received == nil
            count = received ?? 0
        }
        guard let parts = isAtEnd ? parser.end() : parser.parse(bytes) else { return abandon() }
        if case .end? = parts.last { isOver = true }
        if !parts.isEmpty { receiver?.take(parts) }
    }

    private func abandon() {
        isOver = true
        receiver?.abandon()
    }
}
