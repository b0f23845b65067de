import CYAML
import LarderCore

/// A pull parser of YAML 1.1 and 1.2, based on libyaml, whose marks count characters. To convert
/// them to bytes, the window keeps the bytes since the last event.
final class YAMLParser {
    enum Kind { case scalar, alias, array, dictionary, end, documentStart, documentEnd, streamEnd }

    struct Event {
        var kind: Kind
        let line: Int
        var text = ""
        /// Whether a scalar's text determines its type.
        var isPlain = false
        var anchor: String?
        /// The number of an alias's anchor, set by ``YAMLEvents``.
        var target = 0
        /// The place of a scalar or alias without its anchor, tag and final line breaks.
        var span = SourceSpan.unknown
    }

    /// The number of bytes that libyaml may read past an event.
    private static let lookahead = 128 << 10
    /// libyaml's time for a token grows with the depth.
    private static let maximumEntryDepth = 256
    /// The maximum number of characters in directives. `%TAG` lines take libyaml quadratic time.
    private static let maximumDirectives = 1 << 10
    /// U+0085, U+2028 and U+2029, which are line breaks only in YAML 1.1.
    fileprivate static let lineBreaks: [[UInt8]] = [
        [0xC2, 0x85], [0xE2, 0x80, 0xA8], [0xE2, 0x80, 0xA9],
    ]
    static let template =
        "the file is a template with {{ … }} or front matter (---), not a manifest;"
        + " run its template engine first"

    let source: String
    /// The offset in the manifest of the next byte to pass to libyaml.
    private(set) var fed: Int
    private let window: ByteWindow
    /// The window's unread bytes, and their offset. Only ``read(into:)`` changes them.
    private var bytes: UnsafeBufferPointer<UInt8>
    private var offset: Int
    private let limits: ManifestLimits
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let event = UnsafeMutablePointer<yaml_event_t>.allocate(capacity: 1)
    private let firstLine: Int
    private let firstOffset: Int
    private var known: (index: Int, offset: Int)
    /// The start mark of the current event, in characters. The marks of events never decrease.
    private var start = 0
    private var depth = 0
    /// Entries have a higher depth limit, so that reading continues after a deep entry.
    var isInEntry = false
    private var isInDocument = false
    private var hasContent = false
    private var failure: (any Error)?

    init(_ window: ByteWindow, limits: ManifestLimits) throws(ManifestError) {
        self.window = window
        self.limits = limits
        source = window.input.name
        bytes = window.unread
        offset = window.offset
        fed = offset
        firstLine = window.line
        firstOffset = offset
        known = (0, offset)
        event.initialize(to: yaml_event_t())
        guard yaml_parser_initialize(parser) == 1 else { throw outOfMemory }
        yaml_parser_set_encoding(parser, YAML_UTF8_ENCODING)
        // Unretained because the parser lives as long as this object.
        let context = Unmanaged.passUnretained(self).toOpaque()
        yaml_parser_set_input(
            parser,
            { context, buffer, size, count in
                guard let context, let buffer, let count else { return 0 }
                // Unmanaged because C code passes the pointer.
                let parser = Unmanaged<YAMLParser>.fromOpaque(context).takeUnretainedValue()
                do {
                    count.pointee = try parser.read(into: .init(start: buffer, count: size))
                    return 1
                } catch {
                    parser.failure = error
                    return 0
                }
            }, context)
    }

    deinit {
        yaml_event_delete(event)
        yaml_parser_delete(parser)
        event.deallocate()
        parser.deallocate()
    }

    func next() throws -> Event {
        yaml_event_delete(event)
        guard yaml_parser_parse(parser, event) == 1 else { throw error() }
        start = Int(event.pointee.start_mark.index)
        var next = Event(kind: .documentEnd, line: line)
        let data = event.pointee.data
        switch event.pointee.type {
        case YAML_SCALAR_EVENT:
            next.kind = .scalar
            next.text = String(
                decoding: UnsafeBufferPointer(start: data.scalar.value, count: data.scalar.length),
                as: UTF8.self)
            next.isPlain = isPlain
            next.anchor = data.scalar.anchor.map { String(cString: $0) }
            next.span = span
        case YAML_ALIAS_EVENT:
            next.kind = .alias
            next.anchor = data.alias.anchor.map { String(cString: $0) }
            next.span = span
        case YAML_SEQUENCE_START_EVENT:
            next.kind = .array
            next.anchor = data.sequence_start.anchor.map { String(cString: $0) }
            try enter()
        case YAML_MAPPING_START_EVENT:
            next.kind = .dictionary
            next.anchor = data.mapping_start.anchor.map { String(cString: $0) }
            try enter()
            if data.mapping_start.style == YAML_FLOW_MAPPING_STYLE,
                bytes[position(of: start)...].starts(with: "{{".utf8)
            {
                throw error(.notAManifest, Self.template)
            }
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
            next.kind = .end
            depth -= 1
        case YAML_DOCUMENT_START_EVENT:
            next.kind = .documentStart
            isInDocument = true
            guard Int(event.pointee.end_mark.index) - start <= Self.maximumDirectives else {
                throw error(
                    .tooLarge,
                    "the directives of a document have more than \(Self.maximumDirectives)"
                        + " characters")
            }
        case YAML_STREAM_END_EVENT: next.kind = .streamEnd
        default: isInDocument = false
        }
        return next
    }

    private var line: Int { Int(event.pointee.start_mark.line) + firstLine }

    private var isPlain: Bool {
        guard event.pointee.data.scalar.style == YAML_PLAIN_SCALAR_STYLE else { return false }
        guard let tag = event.pointee.data.scalar.tag else { return true }
        let name = String(cString: tag)
        return !name.isSame(as: YAML_STR_TAG) && !name.isSame(as: "!")
    }

    private var span: SourceSpan {
        var from = position(of: start)
        var to = bytes.position(after: Int(event.pointee.end_mark.index) - start, from: from)
        if event.pointee.type == YAML_SCALAR_EVENT {
            let scalar = event.pointee.data.scalar
            if scalar.anchor != nil || scalar.tag != nil { from = bytes.endOfProperties(from, to) }
            if scalar.style == YAML_LITERAL_SCALAR_STYLE
                || scalar.style == YAML_FOLDED_SCALAR_STYLE
            {
                to = bytes.startOfBlanks(from, to)
            }
        }
        return from < to ? SourceSpan(offset + from..<offset + to) : .unknown
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: source, at: .line(line), reason)
    }

    var refusal: ManifestError { ManifestFormat.refusal(of: window) }

    private func enter() throws {
        hasContent = true
        depth += 1
        let limit = isInEntry ? Self.maximumEntryDepth : limits.maximumDepth
        guard depth <= limit
        else { throw error(.tooDeep, "the YAML nests deeper than \(limit) levels") }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if fed == offset + bytes.count {
            window.consume(position(of: start))
            defer { (bytes, offset) = (window.unread, window.offset) }
            // Outside documents, there are only directives and comments.
            let limit = isInDocument ? limits.maximumEntrySize : 0
            guard window.count <= limit + Self.lookahead else {
                throw window.error(
                    .tooLarge,
                    limit == 0
                        ? "the text before the document is too long"
                        : "a value or a comment has more than \(limit) bytes")
            }
            guard try window.fill() else { return 0 }
        }
        let next = bytes[(fed - offset)...].prefix(buffer.count)
        buffer.copyBytes(from: next)
        fed += next.count
        return next.count
    }

    /// Returns the position of a mark in the window. Must be called with ascending marks.
    private func position(of index: Int) -> Int {
        let position = bytes.position(after: index - known.index, from: known.offset - offset)
        known = (index, offset + position)
        return position
    }

    private var outOfMemory: ManifestError {
        ManifestError(.tooLarge, source: source, "not enough memory to read YAML")
    }

    private func error() -> any Error {
        if let failure { return failure }
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "unknown error"
        if state.error == YAML_MEMORY_ERROR { return outOfMemory }
        if state.error == YAML_READER_ERROR {
            let position = firstOffset + state.problem_offset - offset
            let reason =
                problem.utf8.starts(with: "control".utf8)
                ? "the character U+\(String(state.problem_value, radix: 16, uppercase: true))"
                    + " is not allowed in YAML"
                : "the text is not valid UTF-8"
            return window.error(.malformed, at: max(0, min(position, bytes.count)), reason)
        }
        let before = position(of: start)
        let found = position(of: max(start, Int(state.problem_mark.index)))
        let near = bytes[before...].prefix(found + 2 - before)
        let templates: [StaticString] = ["{{", "{%", "<?xml", "<!DOCTYPE", "<html"]
        if templates.contains(where: near.holds) {
            return window.error(.notAManifest, at: found, Self.template)
        }
        guard hasContent else { return refusal }
        var reason = "the YAML is invalid: \(problem)"
        if let context = state.context {
            reason += " \(String(cString: context))"
            if state.context_mark.line < state.problem_mark.line {
                reason += " that starts in line \(Int(state.context_mark.line) + firstLine)"
            }
        }
        return window.error(.malformed, at: found, reason)
    }
}

extension UnsafeBufferPointer<UInt8> {
    fileprivate func position(after count: Int, from start: Int) -> Int {
        var position = start
        var rest = count
        while position < self.count {
            if self[position] & 0xC0 != 0x80 {
                if rest <= 0 { break }
                rest -= 1
            }
            position += 1
        }
        return position
    }

    fileprivate func startOfBlanks(_ start: Int, _ end: Int) -> Int {
        var text = self[start..<end]
        while let last = text.last {
            let length = last.isMarkupBlank ? 1 : last == 0x85 ? 2 : 3
            guard length == 1 || YAMLParser.lineBreaks.contains(Array(text.suffix(length)))
            else { break }
            text.removeLast(length)
        }
        return text.endIndex
    }

    /// Returns the end of a node's anchor, tag, white space and comments.
    fileprivate func endOfProperties(_ start: Int, _ end: Int) -> Int {
        var rest = self[start..<end]
        while let first = rest.first {
            switch first {
            case UInt8(ascii: "&"), UInt8(ascii: "!"): rest = rest.drop { !$0.isMarkupBlank }
            case UInt8(ascii: "#"): rest = rest.drop { $0 != 0x0A && $0 != 0x0D }
            case _ where first.isMarkupBlank: rest.removeFirst()
            default: return rest.startIndex
            }
        }
        return end
    }
}
