import LarderTestSupport

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif

/// A front's only thread: accepts connections, and serves each end that is ready. So events are
/// counted in the order in which they happened.
final class FrontLoop {
    let state: FrontState
    private let originPort: UInt16
    private let context: TLSContext
    private let listener: Int32
    private var ends: [any Polled] = []

    init(_ state: FrontState, listener: Int32, originPort: UInt16, context: TLSContext) {
        (self.state, self.originPort, self.context) = (state, originPort, context)
        self.listener = listener
    }

    /// Serves until the gate is open, and leaves no socket behind.
    func run(until stopping: Gate) {
        while true {
            let watched = ends
            var polled = [
                pollfd(fd: stopping.descriptor, events: Int16(POLLIN), revents: 0),
                pollfd(fd: listener, events: Int16(POLLIN), revents: 0),
            ]
            polled += watched.map {
                pollfd(fd: $0.socket, events: Int16($0.interest), revents: 0)
            }
            while poll(&polled, nfds_t(polled.count), -1) < 0, errno == EINTR {}
            if polled[0].revents != 0 { break }
            for (end, entry) in zip(watched, polled.dropFirst(2))
            where entry.revents != 0 && !end.isOver {
                end.ready(Int32(entry.revents))
            }
            if polled[1].revents != 0 { accept() }
            // No earlier, so that no descriptor of this round stands for another socket.
            for end in ends where end.isOver { close(end.socket) }
            ends.removeAll { $0.isOver }
        }
        for end in ends { close(end.socket) }
        close(listener)
    }

    /// Asks the origin on a connection of its own; nil where there is no descriptor left.
    func ask(_ request: String, for receiver: any AnswerReceiver) -> OriginConnection? {
        guard let origin = OriginConnection(port: originPort, request: request, for: receiver)
        else { return nil }
        ends.append(origin)
        return origin
    }

    private func accept() {
        while let socket = Socket.accept(listener) {
            _ = fcntl(socket, F_SETFL, O_NONBLOCK)
            if let client = try? ClientConnection(socket, self, context) {
                ends.append(client)
            } else {
                close(socket)
            }
        }
    }
}
