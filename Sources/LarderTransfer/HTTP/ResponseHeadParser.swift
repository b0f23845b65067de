/// Puts a response's head together from the lines libcurl hands over one by one: a status line,
/// fields, an empty line; perhaps interim heads (1xx) before it and trailers after the body.
struct ResponseHeadParser {
    /// What a line led to.
    enum Step {
        case more
        case head(ResponseHead)
        case tooLarge
        case tooMany
        case malformed
        /// It has a transfer coding, other than to be in chunks.
        case transferCoded
    }

    private let maximumBytes: Int
    private let maximumFields: Int
    private var received = 0
    private var fields = 0
    private var status: Int?
    private var version = ""
    private var lines: [UInt8] = []
    private(set) var isComplete = false

    /// Both limits are on everything that is ever added.
    init(maximumBytes: Int, maximumFields: Int) {
        self.maximumBytes = maximumBytes
        self.maximumFields = maximumFields
        lines.reserveCapacity(512)
    }

    mutating func add(_ line: UnsafeRawBufferPointer) -> Step {
        received += line.count
        guard received <= maximumBytes else { return .tooLarge }
        guard isComplete || status != nil else { return addStatusLine(line) }
        if !Self.isEmpty(line) {
            fields += 1
            guard fields <= maximumFields else { return .tooMany }
            if !isComplete { addField(line) }
            return .more
        }
        guard !isComplete, let status else { return .more }
        return end(status)
    }

    private mutating func addStatusLine(_ line: UnsafeRawBufferPointer) -> Step {
        let parts = line.split(separator: UInt8(ascii: " "), maxSplits: 2)
        guard parts.count >= 2, parts[0].starts(with: "HTTP/".utf8) else { return .malformed }
        let digits = parts[1].prefix { $0 >= 0x30 && $0 <= 0x39 }
        guard digits.count == 3 else { return .malformed }
        status = digits.reduce(0) { $0 * 10 + Int($1 - 0x30) }
        version = String(decoding: parts[0].dropFirst(5), as: UTF8.self)
        return .more
    }

    private mutating func addField(_ line: UnsafeRawBufferPointer) {
        // A line that begins with a blank continues the one before (RFC 9112, section 5.2).
        if line[0] == 0x20 || line[0] == 0x09 {
            while let last = lines.last, last == 0x0A || last == 0x0D { lines.removeLast() }
        }
        lines.append(contentsOf: line)
        if lines.last != 0x0A { lines.append(0x0A) }
    }

    private mutating func end(_ status: Int) -> Step {
        let headers = HeaderFields(lines: lines)
        // Of an interim head, too: libcurl would go by it.
        guard headers.transferCodings.isEmpty else { return .transferCoded }
        if status < 200 {
            self.status = nil
            lines.removeAll(keepingCapacity: true)
            return .more
        }
        isComplete = true
        defer { lines = [] }
        return .head(ResponseHead(status: status, protocolVersion: version, headers: headers))
    }

    private static func isEmpty(_ line: UnsafeRawBufferPointer) -> Bool {
        line.allSatisfy { $0 == 0x0D || $0 == 0x0A }
    }
}
