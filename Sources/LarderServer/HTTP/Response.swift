import LarderCache
import NIOCore
import NIOHTTP1

/// A response, which is thrown if a request is refused.
struct Response: Error {
    enum Body: Sendable {
        case bytes(ByteBuffer)
        case file(LentFile, Range<Int64>)
        case chunks(ManifestText)
    }

    var status: Int
    /// The encoded header fields, except `Date`, `Content-Length` and `Connection`.
    var fields: [UInt8]
    var body: Body
    var isLast = false
    let hasLength: Bool

    init(_ status: Int, fields: [UInt8], body: Body, hasLength: Bool = true) {
        (self.status, self.fields, self.body, self.hasLength) = (status, fields, body, hasLength)
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

    static func notModified(fields: [UInt8]) -> Response {
        Response(304, fields: fields, body: .bytes(ByteBuffer()), hasLength: false)
    }

    private static let ok = statusLine(200)

    var statusLine: [UInt8] { status == 200 ? Self.ok : Self.statusLine(status) }

    private static func statusLine(_ status: Int) -> [UInt8] {
        let reason = HTTPResponseStatus(statusCode: status).reasonPhrase
        return Array("HTTP/1.1 \(status) \(reason)\r\n".utf8)
    }

    var length: Int64 {
        switch body {
        case .bytes(let bytes): Int64(bytes.readableBytes)
        case .file(_, let range): Int64(range.count)
        case .chunks(let text): text.length
        }
    }

    /// Returns encoded fields. Values must not come from a client, because they are not checked.
    static func lines(_ fields: [(String, String)]) -> [UInt8] {
        fields.flatMap { name, value in Array("\(name): \(value)\r\n".utf8) }
    }
}
