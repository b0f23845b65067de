import Foundation

/// A client that sends arbitrary bytes over a loopback connection.
///
/// Its methods block. A read fails after ``patience`` seconds.
public final class RawClient: @unchecked Sendable {
    // Unchecked because `pending` is mutable. Each test uses a client on one thread at a time.

    /// A response.
    public struct Response: Sendable {
        /// The status code.
        public let status: Int
        /// The header fields by lowercase name.
        public let fields: [String: String]
        /// The whole body, without chunk framing.
        public let body: [UInt8]
    }

    /// A failed exchange.
    public struct Failure: Error, CustomStringConvertible {
        /// The reason.
        public let description: String
    }

    /// The timeout of a read in seconds. It is long because other tests may use every processor.
    public static let patience = 120

    private let socket: Int32
    private var pending: [UInt8] = []

    /// Connects to a loopback port.
    ///
    /// - Parameter receiveBuffer: The size of the kernel's receive buffer in bytes, or nil for the
    ///   system's default.
    public init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        socket = try Socket.connect(toPort: port, receiveBuffer: receiveBuffer)
        var time = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(
            socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// Sends text; false if the connection is closed.
    @discardableResult
    public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends bytes; false if the connection is closed.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { Socket.send(socket, $0) }
    }

    /// Sends bytes until the connection has accepted none for `milliseconds`.
    ///
    /// - Returns: The number of bytes sent.
    public func sendUntilBlocked(_ bytes: [UInt8], milliseconds: Int32) -> Int {
        var sent = 0
        while sent < bytes.count {
            var polled = pollfd(fd: socket, events: Int16(POLLOUT), revents: 0)
            guard poll(&polled, 1, milliseconds) > 0 else { break }
            let count = bytes[sent...].withUnsafeBytes { rest in
                Socket.sendAtOnce(socket, rest)
            }
            guard count > 0 else { break }
            sent += count
        }
        return sent
    }

    /// Closes the sending direction of the connection.
    public func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// Sends a request with a `Host` and reads the response.
    public func get(
        _ target: String, _ fields: [String] = [], method: String = "GET"
    ) throws -> Response {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields
        send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return try readResponse(isHead: method == "HEAD")
    }

    /// Reads a response.
    ///
    /// - Parameter isHead: Whether the request was HEAD, so that the response has no body.
    public func readResponse(isHead: Bool = false) throws -> Response {
        let head = try readHead()
        let lines = head.components(separatedBy: "\r\n")
        let first = lines[0].components(separatedBy: " ")
        guard first.count > 1, first[0] == "HTTP/1.1", let status = Int(first[1]) else {
            throw Failure(description: "not a response: \(head)")
        }
        var fields: [String: String] = [:]
        for line in lines.dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts.count == 2 else { throw Failure(description: "not a field: \(line)") }
            fields[parts[0].lowercased()] = parts[1].trimmingCharacters(in: .whitespaces)
        }
        var body: [UInt8] = []
        if isHead || status == 304 {
            body = []
        } else if let length = fields["content-length"].flatMap({ Int($0) }) {
            body = try read(length)
        } else if fields["transfer-encoding"] == "chunked" {
            while true {
                guard let size = Int(try readLine(), radix: 16) else {
                    throw Failure(description: "not the size of a chunk")
                }
                body += try read(size)
                _ = try readLine()
                if size == 0 { break }
            }
        } else {
            body = readToEnd()
        }
        return Response(status: status, fields: fields, body: body)
    }

    /// Reads until the server closes or resets the connection.
    public func readToEnd() -> [UInt8] {
        while (try? fill()) == true {}
        defer { pending = [] }
        return pending
    }

    /// Waits, and returns whether the server closes the connection without sending more bytes.
    public func isEnded() throws -> Bool { try pending.isEmpty && !fill() }

    /// Waits until bytes have arrived, without consuming them.
    public func waitForBytes() throws {
        if pending.isEmpty { _ = try fill(4_096) }
    }

    /// Reads exactly `count` bytes.
    public func read(_ count: Int) throws -> [UInt8] {
        while pending.count < count {
            guard try fill(max(4_096, count - pending.count)) else {
                throw Failure(description: "ended after \(pending.count) of \(count) bytes")
            }
        }
        defer { pending.removeFirst(count) }
        return Array(pending[..<count])
    }

    private func readHead() throws -> String {
        let end = Array("\r\n\r\n".utf8)
        var searched = 0
        while true {
            var place = max(0, searched - 3)
            while place + 4 <= pending.count {
                if pending[place] == 13, Array(pending[place..<place + 4]) == end {
                    defer { pending.removeFirst(place + 4) }
                    return String(decoding: pending[..<place], as: UTF8.self)
                }
                place += 1
            }
            searched = pending.count
            guard try fill() else {
                throw Failure(description: "ended after \(pending.count) bytes of a head")
            }
        }
    }

    private func readLine() throws -> String {
        while true {
            if let end = pending.firstIndex(of: 10) {
                let line = String(decoding: pending[..<max(0, end - 1)], as: UTF8.self)
                pending.removeFirst(end + 1)
                return line
            }
            guard try fill() else { throw Failure(description: "ended within a line") }
        }
    }

    /// Receives bytes once; false if the server has closed the connection.
    private func fill(_ most: Int = 65_536) throws -> Bool {
        var buffer = [UInt8](repeating: 0, count: min(most, 1 << 20))
        while true {
            let count = recv(socket, &buffer, buffer.count, 0)
            if count > 0 {
                pending += buffer[..<count]
                return true
            }
            if count == 0 { return false }
            switch errno {
            case EINTR: continue
            case EAGAIN: throw Failure(description: "received no bytes for \(Self.patience) s")
            default: return false
            }
        }
    }
}
