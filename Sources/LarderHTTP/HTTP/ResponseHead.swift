/// The head of a final response (not 1xx).
package struct ResponseHead: Sendable {
    package var status: Int
    package var protocolVersion: String
    package var headers: HeaderFields
    /// For a redirect, the request's cookies and the cookies accepted from the response.
    package var cookies: [String] = []
    var isSuccess: Bool { (200..<300).contains(status) }
}

struct ResponseHeadParser {
    /// The limits apply to the total of all heads and trailers.
    private let maximumBytes: Int
    private let maximumFields: Int
    private var received = 0
    private var fields = 0
    private var status: Int?
    private var version = ""
    private var lines: [UInt8] = []
    private(set) var isComplete = false

    init(maximumBytes: Int, maximumFields: Int = 256) {
        (self.maximumBytes, self.maximumFields) = (maximumBytes, maximumFields)
        lines.reserveCapacity(512)
    }

    mutating func add(_ line: UnsafeRawBufferPointer) throws(TransferError) -> ResponseHead? {
        received += line.count
        guard received <= maximumBytes else {
            throw TransferError(.headersTooLarge, "the response's head is too long")
        }
        guard isComplete || status != nil else {
            try addStatusLine(line)
            return nil
        }
        if !line.allSatisfy({ $0 == 0x0D || $0 == 0x0A }) {
            fields += 1
            guard fields <= maximumFields else {
                throw TransferError(
                    .headersTooLarge, "the response's head has more than \(maximumFields) fields")
            }
            if !isComplete { addField(line) }
            return nil
        }
        guard !isComplete, let status else { return nil }
        let headers = HeaderFields(lines: lines)
        // Also checks interim heads, whose codings libcurl would apply to the body without a limit.
        guard headers.transferCodings.isEmpty else {
            throw TransferError(
                .malformedResponse, "the response has an unsupported transfer coding")
        }
        lines.removeAll(keepingCapacity: status < 200)
        guard status >= 200 else {
            self.status = nil
            return nil
        }
        isComplete = true
        return ResponseHead(status: status, protocolVersion: version, headers: headers)
    }

    private mutating func addStatusLine(_ line: UnsafeRawBufferPointer) throws(TransferError) {
        guard line.starts(with: "HTTP/".utf8),
            let end = line.firstIndex(of: UInt8(ascii: " ")),
            case let digits = line[end...].drop(while: { $0 == UInt8(ascii: " ") })
                .prefix(while: { 0x30...0x39 ~= $0 }), digits.count == 3
        else { throw TransferError(.malformedResponse, "the response has no valid status line") }
        status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        version = String(decoding: line[5..<end], as: UTF8.self)
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) {
        // A line that starts with a blank continues the previous line (RFC 9112, section 5.2).
        if line[0] == 0x20 || line[0] == 0x09 {
            while let last = lines.last, last == 0x0A || last == 0x0D { lines.removeLast() }
        }
        lines.append(contentsOf: line)
        if lines.last != 0x0A { lines.append(0x0A) }
    }
}
