import Foundation

/// A client that sends any bytes over a loopback connection, and reads what comes.
///
/// Blocking; a read ends after ``patience``.
public final class RawClient: @unchecked Sendable {
    // Unchecked because `pending` is a variable: a test uses a client in one thread.

    /// What was answered.
    public struct Response: Sendable {
        /// The status code.
        public let status: Int
        /// The head's lines but for the first, by their names in lower case.
        public let fields: [String: String]
        /// All of the body, without the frames of chunks.
        public let body: [UInt8]
    }

    /// What went wrong.
    public struct Failure: Error, CustomStringConvertible {
        /// In words.
        public let description: String
    }

    /// Seconds until a read gives up: other tests may keep every processor.
    public static let patience = 120

    private let socket: Int32
    private var pending: [UInt8] = []

    /// Connects to a loopback port.
    ///
    /// - Parameter receiveBuffer: how much the kernel may hold of what is not read, in bytes.
    ///   Default: what the system gives.
    public init(port: UInt16, receiveBuffer: Int32? = nil) throws {
        socket = try Socket.connect(toPort: port, receiveBuffer: receiveBuffer)
        var time = timeval(tv_sec: Self.patience, tv_usec: 0)
        setsockopt(
            socket, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
        setsockopt(
            socket, SOL_SOCKET, SO_SNDTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    /// Sends text; false if the server is gone.
    @discardableResult
    public func send(_ text: String) -> Bool { send(Array(text.utf8)) }

    /// Sends bytes; false if the server is gone.
    @discardableResult
    public func send(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { Socket.send(socket, $0) }
    }

    /// Sends as much as is taken within `milliseconds` of the last that was; returns how much.
    public func sendWhileTaken(_ bytes: [UInt8], milliseconds: Int32) -> Int {
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

    /// Sends no more.
    public func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// Asks for a target with GET and a `Host`, and reads the response.
    public func get(
        _ target: String, _ fields: [String] = [], method: String = "GET"
    ) throws -> Response {
        let lines = ["\(method) \(target) HTTP/1.1", "Host: localhost"] + fields
        send(lines.joined(separator: "\r\n") + "\r\n\r\n")
        return try readResponse(isHead: method == "HEAD")
    }

    /// Reads a response.
    ///
    /// - Parameter isHead: whether it has no body whatever it says.
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

    /// Reads everything until the server ends the connection, or resets it.
    public func readToEnd() -> [UInt8] {
        while (try? fill()) == true {}
        defer { pending = [] }
        return pending
    }

    /// Whether the server ends the connection without sending any more.
    public func isEnded() throws -> Bool { try pending.isEmpty && !fill() }

    /// Returns once something has come, and leaves it to be read.
    public func waitForBytes() throws {
        if pending.isEmpty { _ = try fill(4_096) }
    }

    /// Reads exactly so many bytes.
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

    /// Reads once; false at the end.
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
            case EAGAIN: throw Failure(description: "nothing came for \(Self.patience) s")
            default: return false
            }
        }
    }
}
