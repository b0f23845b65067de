import Foundation
import LarderTestSupport

/// The event loop of a front. It accepts connections and serves the sockets that are ready. A
/// single thread runs it, so that events are counted in the order in which they happen.
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

    /// Serves until the gate is open, then closes all sockets.
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
            // Closes sockets last, so that no descriptor is reused during this round.
            for end in ends where end.isOver { close(end.socket) }
            ends.removeAll { $0.isOver }
        }
        for end in ends { close(end.socket) }
        close(listener)
    }

    /// Forwards a request to the origin on a new connection; nil if no descriptor is free.
    func forward(_ request: String, for receiver: any ResponseReceiver) -> OriginConnection? {
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
