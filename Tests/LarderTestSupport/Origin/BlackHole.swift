import Foundation

/// A port on 127.0.0.1 where connecting neither succeeds nor fails. Its backlog is full and no
/// connection is accepted.
public final class BlackHole: Sendable {
    /// The port on 127.0.0.1.
    public let port: UInt16
    private let sockets: [Int32]

    /// Opens the port and fills its backlog.
    public init() throws {
        let listener = try Socket.bound(to: .ipv4, port: 0)
        var sockets = [listener]
        do throws(OriginError) {
            try Socket.listen(listener, backlog: 0)
            port = try Socket.port(of: listener)
            // A backlog of 0 holds one or two connections, depending on the system.
            for _ in 0..<8 { sockets.append(try Socket.startConnecting(toPort: port)) }
        } catch {
            for socket in sockets { close(socket) }
            throw error
        }
        self.sockets = sockets
    }

    deinit {
        for socket in sockets { close(socket) }
    }

    /// Returns the URL of a path that begins with a slash.
    public func url(_ path: String) -> String { "http://127.0.0.1:\(port)\(path)" }
}
