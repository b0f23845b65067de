import Foundation
import Synchronization

/// The threads of an origin: one accepts connections, and each connection has a thread.
///
/// Threads retain this object and never the ``Origin``, because releasing the origin must end them.
final class OriginServer: Sendable {
    let port: UInt16
    let isOnIPv6: Bool
    let log = RequestLog()
    let traffic = Traffic()
    let routes = Routes()
    private let listeners: [Int32]
    private let stopping: Gate
    private let threads = DispatchGroup()

    init(port: UInt16) throws {
        stopping = try Gate()
        listeners = try Self.listen(port: port)
        self.port = try Socket.port(of: listeners[0])
        isOnIPv6 = listeners.count > 1
        addThread { [self] in accept() }
    }

    /// Closes the listeners and every connection. With `waiting`, returns after all threads have
    /// ended.
    func stop(waiting: Bool) {
        stopping.open()
        traffic.stop()
        if waiting { threads.wait() }
        routes.removeAll()
    }

    private func accept() {
        while let index = Socket.firstReadable([stopping.descriptor] + listeners), index > 0 {
            guard let socket = Socket.accept(listeners[index - 1]) else { continue }
            guard let number = traffic.opened(socket) else {
                close(socket)
                break
            }
            addThread { [self] in
                var connection = Connection(number: number, socket: socket, server: self)
                connection.serve()
                traffic.closed(number)
                close(socket)
            }
        }
        for listener in listeners { close(listener) }
    }

    private func addThread(_ body: @escaping @Sendable () -> Void) {
        threads.enter()
        startThread { [threads] in
            body()
            threads.leave()
        }
    }

    /// Listens on 127.0.0.1 and, if IPv6 is available, on [::1] with the same port. Otherwise
    /// `localhost` could lead to the server of another process.
    private static func listen(port: UInt16) throws(OriginError) -> [Int32] {
        for _ in 0..<20 {
            let ipv4 = try Socket.bound(to: .ipv4, port: port)
            var listeners = [ipv4]
            do throws(OriginError) {
                let actual = try Socket.port(of: ipv4)
                try Socket.listen(ipv4, backlog: SOMAXCONN)
                do throws(OriginError) {
                    let ipv6 = try Socket.bound(to: .ipv6, port: actual)
                    listeners.append(ipv6)
                    try Socket.listen(ipv6, backlog: SOMAXCONN)
                } catch  where !error.isAddressInUse {
                    // IPv6 is not available, so localhost is 127.0.0.1.
                }
                return listeners
            } catch {
                for listener in listeners { close(listener) }
                guard error.isAddressInUse, port == 0 else { throw error }
            }
        }
        throw OriginError("find a port that is free on 127.0.0.1 and [::1]", code: EADDRINUSE)
    }
}
