/// A request that arrived at the origin.
public struct Request: Sendable {
    /// The method, such as `GET`.
    public let method: String
    /// The request target as sent: path and query.
    public let target: String
    /// The headers in order, with names as sent.
    public let headers: [(name: String, value: String)]
    /// The body, if `Content-Length` announced one. It is empty in ``Origin/requests``.
    public var body: [UInt8] = []
    /// The number of the connection, counted from 1.
    public let connection: Int
    /// The time at which the head was complete.
    public let arrival: ContinuousClock.Instant
    /// The number of requests for this target since the log was reset, including this one.
    public internal(set) var attempt = 1

    /// The target without its query.
    public var path: String {
        target.utf8.firstIndex(of: UInt8(ascii: "?")).map { String(target[..<$0]) } ?? target
    }

    /// The `Host` header without its port, such as `localhost` or `[::1]`.
    public var host: String {
        let host = header("Host") ?? ""
        guard let colon = host.utf8.lastIndex(of: UInt8(ascii: ":")), !host.hasSuffix("]") else {
            return host
        }
        return String(host[..<colon])
    }

    /// Returns the value of the first header with this name, ignoring case.
    public func header(_ name: String) -> String? {
        let name = name.lowercased()
        return headers.first { $0.name.lowercased() == name }?.value
    }

    /// Parses the lines of a head; nil if they are not a request.
    init?(head lines: [String], connection: Int) {
        let words = lines.first?.split(separator: " ") ?? []
        guard words.count == 3, words[2].hasPrefix("HTTP/1.") else { return nil }
        method = String(words[0])
        target = String(words[1])
        isVersion10 = words[2] == "HTTP/1.0"
        headers = lines.dropFirst().compactMap { line in
            guard let colon = line.utf8.firstIndex(of: UInt8(ascii: ":")) else { return nil }
            let value = line[line.utf8.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
            return (String(line[..<colon]), String(value))
        }
        self.connection = connection
        arrival = .now
    }

    /// Whether the connection must close after the reply (RFC 9112, section 9.3).
    var closesConnection: Bool {
        let connection = header("Connection")?.lowercased() ?? ""
        return isVersion10 ? connection != "keep-alive" : connection == "close"
    }

    private let isVersion10: Bool
}
