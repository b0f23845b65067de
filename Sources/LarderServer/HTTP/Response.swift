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
