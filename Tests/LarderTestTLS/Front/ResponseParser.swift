import LarderTestSupport

/// An incremental parser for the origin's response.
package struct ResponseParser {
    package enum Part {
        case head(ResponseHead)
        case body([UInt8])
        case end
    }

    private enum State {
        case head
        /// The number of remaining bytes.
        case body(Int)
        case untilClose
        case chunkSize
        case chunk(Int)
        case chunkEnd
        case trailers
        case done
    }

    private var state = State.head
    private var input: [UInt8] = []

    package init() {}

    /// Parses more bytes and returns the new parts; nil if the bytes are not a response.
    package mutating func parse(_ bytes: [UInt8]) -> [Part]? {
        input += bytes
        var parts: [Part] = []
        while true {
            switch state {
            case .head:
                guard let lines = takeHead() else { return parts }
                guard let head = ResponseHead(lines) else { return nil }
                parts.append(.head(head))
                if head.isInterim { continue }
                state =
                    head.isChunked
                    ? .chunkSize : head.length.map { .body($0) } ?? .untilClose
            case .body(let count):
                let body = take(count)
                if !body.isEmpty { parts.append(.body(body)) }
                state = .body(count - body.count)
                guard body.count == count else { return parts }
                parts.append(.end)
                state = .done
            case .untilClose:
                if !input.isEmpty { parts.append(.body(take(input.count))) }
                return parts
            case .chunkSize:
                guard let line = takeLine() else { return parts }
                guard let size = Int(line.prefix { $0 != ";" && $0 != " " }, radix: 16) else {
                    return nil
                }
                state = size == 0 ? .trailers : .chunk(size)
            case .chunk(let count):
                let body = take(count)
                if !body.isEmpty { parts.append(.body(body)) }
                state = .chunk(count - body.count)
                guard body.count == count else { return parts }
                state = .chunkEnd
            case .chunkEnd:
                guard takeLine() != nil else { return parts }
                state = .chunkSize
            case .trailers:
                guard let line = takeLine() else { return parts }
                guard line.isEmpty else { continue }
                parts.append(.end)
                state = .done
            case .done:
                return parts
            }
        }
    }

    /// Returns the last part at the end of the connection; nil if the response is incomplete.
    package mutating func end() -> [Part]? {
        guard case .untilClose = state else { return nil }
        return [.end]
    }

    private mutating func take(_ count: Int) -> [UInt8] {
        let count = min(count, input.count)
        defer { input.removeFirst(count) }
        return Array(input[..<count])
    }

    private mutating func takeHead() -> [String]? {
        guard let (lines, end) = input.withUnsafeBytes(MessageHead.parse) else { return nil }
        input.removeFirst(end)
        return lines
    }

    private mutating func takeLine() -> String? {
        guard let end = input.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = take(end + 1).dropLast()
        return String(
            decoding: line.last == UInt8(ascii: "\r") ? line.dropLast() : line, as: UTF8.self)
    }
}
