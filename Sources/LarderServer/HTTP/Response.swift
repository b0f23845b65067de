import Foundation
import LarderCache
import NIOCore

/// An answer to a request.
struct Response: Sendable {
    /// What follows the head.
    enum Body: Sendable {
        case bytes(ByteBuffer)
        /// A part of a file that was compared with its digest.
        case file(LentFile, Range<Int64>)
        /// - Parameter length: how many bytes all of them are.
        case chunks(any ChunkSource, length: Int64)
    }

    /// The status code.
    var status: Int
    /// Lines of the head, each with its end, but for the date, the length and the connection's.
    var fields: [UInt8]
    /// The body; of a response to HEAD what it would be.
    var body: Body
    /// Whether the connection ends with it.
    var isLast = false
    /// Whether the head states the length of the body; a 304's does not.
    var hasLength = true

    init(_ status: Int, fields: [UInt8], body: Body) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    init(_ status: Int, _ fields: [(String, String)], body: Body) {
        self.init(status, fields: Self.lines(fields), body: body)
    }

    /// A line of text for people.
    init(_ status: Int, text: String, _ fields: [(String, String)] = []) {
        self.init(
            status,
            [
                ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ] + fields, body: .bytes(ByteBuffer(string: text + "\n")))
    }

    /// The length of the body in bytes.
    var length: Int64 {
        switch body {
        case .bytes(let bytes): Int64(bytes.readableBytes)
        case .file(_, let range): Int64(range.count)
        case .chunks(_, let length): length
        }
    }

    /// The lines of fields. None of the values may have been sent by anybody.
    static func lines(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in Array("\(name): \(value)\r\n".utf8) }
    }
}

/// The reasons that go with statuses (RFC 9110, section 15).
enum StatusLine {
    private static let reasons: [Int: String] = [
        200: "OK", 206: "Partial Content", 304: "Not Modified", 400: "Bad Request",
        403: "Forbidden", 404: "Not Found", 405: "Method Not Allowed", 412: "Precondition Failed",
        413: "Content Too Large", 414: "URI Too Long", 416: "Range Not Satisfiable",
        421: "Misdirected Request", 431: "Request Header Fields Too Large",
        500: "Internal Server Error", 501: "Not Implemented", 503: "Service Unavailable",
        505: "HTTP Version Not Supported",
    ]

    private static let ok = Array("HTTP/1.1 200 OK\r\n".utf8)

    /// The first line of a response, with its end.
    static func bytes(_ status: Int) -> [UInt8] {
        status == 200 ? ok : Array("HTTP/1.1 \(status) \(reasons[status] ?? "Error")\r\n".utf8)
    }
}

/// A body that is made piece by piece, each only when the client has taken the last one.
///
/// Asked by one thread at a time, which may wait for a disk.
protocol ChunkSource: Sendable {
    /// The next piece; nil at the end.
    func next() throws -> ByteBuffer?
}

/// The time as `Date` has it (RFC 9110, section 5.6.7).
enum HTTPDateText {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Such as `Sun, 06 Nov 1994 08:49:37 GMT`.
    static func text(_ seconds: Int) -> String {
        var time = time_t(seconds)
        var parts = tm()
        gmtime_r(&time, &parts)
        func two(_ number: Int32) -> String { (number < 10 ? "0" : "") + "\(number)" }
        let day = "\(days[Int(parts.tm_wday)]), \(two(parts.tm_mday))"
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(two).joined(separator: ":")
        return "\(day) \(months[Int(parts.tm_mon)]) \(1900 + parts.tm_year) \(clock) GMT"
    }
}
