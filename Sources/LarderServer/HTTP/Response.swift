import Foundation
import LarderCache
import NIOCore
import NIOHTTP1

struct Response: Sendable {
    enum Body: Sendable {
        case bytes(ByteBuffer)
        /// A part of a file that was compared with its digest.
        case file(LentFile, Range<Int64>)
        case chunks(any ChunkSource, length: Int64)
    }

    var status: Int
    /// Lines of the head, with their ends, except the date, the length and the connection's.
    var fields: [UInt8]
    /// The body, also if it is not sent because the request is HEAD.
    var body: Body
    var isLast = false
    /// Whether the head states the length of the body. That of a 304 does not.
    var hasLength = true

    init(_ status: Int, fields: [UInt8], body: Body) {
        self.status = status
        self.fields = fields
        self.body = body
    }

    init(_ status: Int, _ fields: [(String, String)], body: Body) {
        self.init(status, fields: Self.lines(fields), body: body)
    }

    init(_ status: Int, text: String, _ fields: [(String, String)] = []) {
        self.init(
            status,
            [
                ("Content-Type", "text/plain; charset=utf-8"), ("Cache-Control", "no-store"),
                ("X-Content-Type-Options", "nosniff"),
            ] + fields, body: .bytes(ByteBuffer(string: text + "\n")))
    }

    /// Status 304 to a client whose copy has an entity tag.
    static func notModified(fields: [UInt8]) -> Response {
        var response = Response(304, fields: fields, body: .bytes(ByteBuffer()))
        response.hasLength = false
        return response
    }

    var length: Int64 {
        switch body {
        case .bytes(let bytes): Int64(bytes.readableBytes)
        case .file(_, let range): Int64(range.count)
        case .chunks(_, let length): length
        }
    }

    /// The lines of fields. No value may come from a client.
    static func lines(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in Array("\(name): \(value)\r\n".utf8) }
    }
}

/// A body that is made piece by piece, each once the client has taken the last. One thread at a
/// time calls it, and may wait for a disk.
protocol ChunkSource: Sendable {
    func next() throws -> ByteBuffer?
}

enum HeadLine {
    private static let ok = status(200, "OK")

    static func status(_ status: Int) -> [UInt8] {
        status == 200
            ? ok : self.status(status, HTTPResponseStatus(statusCode: status).reasonPhrase)
    }

    private static func status(_ status: Int, _ reason: String) -> [UInt8] {
        Array("HTTP/1.1 \(status) \(reason)\r\n".utf8)
    }

    /// The line of `Date` (RFC 9110, section 5.6.7), with its end.
    static func date(_ seconds: time_t) -> [UInt8] {
        var (seconds, parts) = (seconds, tm())
        gmtime_r(&seconds, &parts)
        var text = [CChar](repeating: 0, count: 64)
        // In the C locale: no program here sets another.
        let count = strftime(&text, text.count, "Date: %a, %d %b %Y %H:%M:%S GMT\r\n", &parts)
        return text.prefix(count).map(UInt8.init)
    }
}
