import Foundation

@testable import LarderTestSupport

/// An HTTP client that returns responses byte for byte.
final class Client {
    private let socket: Int32
    private var received: [UInt8] = []
    /// Whether the connection was reset rather than ended.
    private(set) var wasReset = false

    init(_ origin: Origin) throws { socket = try Client.connect(origin.port) }

    deinit {
        // A child process that is starting can briefly hold a copy of the descriptor. Then `close`
        // alone would not end the connection.
        shutdown(socket, Int32(SHUT_RDWR))
        close(socket)
    }

    static func connect(_ port: UInt16) throws -> Int32 {
        let socket = try Socket.startConnecting(toPort: port)
        var polled = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
        poll(&polled, 1, 5000)
        _ = fcntl(socket, F_SETFL, 0)
        return socket
    }

    func send(
        _ path: String, method: String = "GET", host: String = "127.0.0.1", _ headers: String...
    ) {
        let lines = ["\(method) \(path) HTTP/1.1", "Host: \(host):80"] + headers + ["", ""]
        let bytes = Array(lines.joined(separator: "\r\n").utf8)
        _ = bytes.withUnsafeBytes { Socket.send(socket, $0) }
    }

    /// Reads everything until the origin closes the connection.
    func rest() -> String {
        while receive() {}
        defer { received = [] }
        return String(decoding: received, as: UTF8.self)
    }

    /// Reads `count` bytes, or fewer at the end of the connection.
    func next(_ count: Int) -> String {
        while received.count < count, receive() {}
        defer { received.removeFirst(min(count, received.count)) }
        return String(decoding: received.prefix(count), as: UTF8.self)
    }

    /// Reads the head of the next response, including the empty line.
    func head() -> String {
        var head = ""
        while !head.hasSuffix("\r\n\r\n") {
            let byte = next(1)
            if byte.isEmpty { break }
            head = head == "" ? byte : String(decoding: Array(head.utf8) + byte.utf8, as: UTF8.self)
        }
        return head
    }

    private func receive() -> Bool {
        var space = [UInt8](repeating: 0, count: 64 << 10)
        let count = recv(socket, &space, space.count, 0)
        if count < 0, errno == ECONNRESET { wasReset = true }
        guard count > 0 else { return false }
        received += space[..<count]
        return true
    }
}

extension Origin {
    /// Returns the whole response to one request, from the status line to the end of the
    /// connection.
    func response(
        to path: String, method: String = "GET", host: String = "127.0.0.1", _ headers: String...
    ) throws -> String {
        let client = try Client(self)
        let lines = (["Connection: close"] + headers).joined(separator: "\r\n")
        client.send(path, method: method, host: host, lines)
        return client.rest()
    }
}
