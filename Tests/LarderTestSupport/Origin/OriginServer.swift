import Foundation
import Synchronization

/// The origin's threads: one that accepts, one for each connection.
///
/// Threads own this and never the ``Origin``, so that dropping the origin can end them.
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
        startThread { [self] in accept() }
    }

    /// Ends every connection; with `waiting`, returns when the last thread is gone.
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
            startThread { [self] in
                var connection = Connection(number: number, socket: socket, server: self)
                connection.serve()
                traffic.closed(number)
                close(socket)
            }
        }
        for listener in listeners { close(listener) }
    }

    private func startThread(_ body: @escaping @Sendable () -> Void) {
        threads.enter()
        let thread = Thread { [threads] in
            body()
            threads.leave()
        }
        thread.stackSize = 512 << 10
        thread.start()
    }

    /// A listener on 127.0.0.1 and, where there is IPv6, one on [::1] with the same port: else
    /// `localhost` might lead to somebody else's.
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
                    // No IPv6 here: localhost can only be 127.0.0.1.
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
