import LarderTestSupport

/// An answer of the origin, read as it comes.
package struct AnswerParser {
    package enum Part {
        case head(AnswerHead)
        case body([UInt8])
        case end
    }

    private enum State {
        case head
        /// So many bytes are still to come.
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

    /// The parts that are whole by now; nil where the bytes are not an answer.
    package mutating func parse(_ bytes: [UInt8]) -> [Part]? {
        input += bytes
        var parts: [Part] = []
        while true {
            switch state {
            case .head:
                guard let lines = takeHead() else { return parts }
                guard let head = AnswerHead(lines) else { return nil }
                parts.append(.head(head))
                // More than an interim answer is to come.
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

    /// The same at the end of the connection.
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
