import LarderCache
import NIOCore
import NIOHTTP1
import Synchronization

struct ServerRequest: Sendable {
    let method: HTTPMethod
    let target: String
    private(set) var host: String?
    private(set) var hostCount = 0
    private(set) var range: String?
    private(set) var ifRange: String?
    private(set) var ifMatch: String?
    private(set) var ifNoneMatch: String?
    private(set) var hasBody = false
    let isKeepAlive: Bool
    let isOld: Bool
    private(set) var refusal: Int?
    /// Whether a page of another site made the request (Fetch Metadata Request Headers).
    private(set) var isCrossSite = false
    let client: Client

    var isHead: Bool { method == .HEAD }

    init(_ head: HTTPRequestHead, from client: Client = Client()) {
        self.client = client
        method = head.method
        target = head.uri
        isKeepAlive = head.isKeepAlive
        isOld = head.version.minor == 0
        for (name, value) in head.headers {
            // The length is compared first, because most fields have other names.
            switch name.utf8.count {
            case 4 where name.utf8.isWord("host"):
                host = value
                hostCount += 1
            case 5 where name.utf8.isWord("range"): range = value
            case 8 where name.utf8.isWord("if-range"): ifRange = value
            case 8 where name.utf8.isWord("if-match"):
                ifMatch = ifMatch.map { "\($0),\(value)" } ?? value
            case 13 where name.utf8.isWord("if-none-match"):
                ifNoneMatch = ifNoneMatch.map { "\($0),\(value)" } ?? value
            case 14 where name.utf8.isWord("content-length"):
                hasBody = hasBody || !value.utf8.trimmingBlanks.elementsEqual("0".utf8)
            case 17 where name.utf8.isWord("transfer-encoding"): hasBody = true
            case 14 where name.utf8.isWord("sec-fetch-site"):
                isCrossSite = value.utf8.trimmingBlanks.isWord("cross-site")
            default: break
            }
        }
    }

    init(refusedWith status: Int) {
        self.init(HTTPRequestHead(version: .http1_1, method: .GET, uri: ""))
        refusal = status
    }
}

final class Client: Sendable {
    private let gone = Atomic<Bool>(false)

    var isGone: Bool { gone.load(ordering: .relaxed) }

    func leave() { gone.store(true, ordering: .relaxed) }
}

/// The value of `If-None-Match`, `If-Match` or `If-Range` (RFC 9110, section 13.1).
struct EntityTagList {
    private let field: String

    init(_ field: String) { self.field = field }

    /// Whether the list is `*` or contains the tag. If `weakly`, weak tags match too.
    func matches(_ tag: String, weakly: Bool) -> Bool {
        var rest = field.utf8[...]
        while true {
            rest = rest.drop { $0.isBlank || $0 == UInt8(ascii: ",") }
            guard let first = rest.first else { return false }
            // `*` is not valid in a list with other tags.
            if first == UInt8(ascii: "*") { return field.utf8.trimmingBlanks.count == 1 }
            let isWeak = rest.starts(with: "W/".utf8)
            if isWeak { rest = rest.dropFirst(2) }
            guard rest.first == UInt8(ascii: "\"") else { return false }
            let inside = rest.dropFirst()
            guard let end = inside.firstIndex(of: UInt8(ascii: "\"")) else { return false }
            if weakly || !isWeak, rest[...end].elementsEqual(tag.utf8) { return true }
            rest = rest[rest.index(after: end)...]
        }
    }

    /// Whether the field is exactly this tag, not a date or a list. For `If-Range`.
    func isStrongly(_ tag: String) -> Bool { field.utf8.trimmingBlanks.elementsEqual(tag.utf8) }
}

/// A range of a body (RFC 9110, section 14.2).
enum RequestedRange: Equatable {
    /// The whole body. Also used for invalid ranges, multiple ranges, and units other than bytes.
    case whole
    case part(Range<Int64>)
    case none

    init(_ field: String?, size: Int64) {
        self = .whole
        guard let field = field?.utf8, let equals = field.firstIndex(of: UInt8(ascii: "=")),
            field[..<equals].isWord("bytes")
        else { return }
        let parts = field[field.index(after: equals)...].trimmingBlanks
            .split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        guard parts.count == 2 else { return }
        let range: Range<Int64>
        switch (Self.number(parts[0]), Self.number(parts[1])) {
        case (nil, let count?) where parts[0].isEmpty: range = max(0, size - count)..<size
        case (let start?, nil) where parts[1].isEmpty: range = min(start, size)..<size
        case (let start?, let end?) where start <= end:
            range = min(start, size)..<min(end, size - 1) + 1
        default: return
        }
        self = range.isEmpty ? .none : .part(range)
    }

    /// Returns more than `Int64.max / 2` if the number overflows.
    private static func number(_ digits: Substring.UTF8View) -> Int64? {
        guard !digits.isEmpty, digits.allSatisfy(\.isDigit) else { return nil }
        var number: Int64 = 0
        for digit in digits { number = min(number, Int64.max / 16) * 10 + Int64(digit - 0x30) }
        return number
    }
}

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
