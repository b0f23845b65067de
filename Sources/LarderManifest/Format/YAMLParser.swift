import CYAML
import LarderCore

/// A pull parser of YAML 1.1 and 1.2 on libyaml, with the place of each event in bytes.
///
/// libyaml's marks count characters. So the window keeps the bytes since the last event, and marks
/// are converted from there.
final class YAMLParser {
    enum Kind {
        case scalar, alias, array, dictionary, end, documentStart, documentEnd, streamEnd
    }

    /// libyaml reads up to 64 KiB past an event.
    private static let lookahead = 128 << 10
    /// libyaml's time for a token grows with the depth.
    private static let maximumDepth = 256
    /// libyaml's time grows with the square of the number of `%TAG` lines.
    private static let maximumTagLines = 100
    /// Each use of a tag copies the prefix that `%TAG` defines.
    private static let maximumTagSize = 1 << 10

    let source: String
    private(set) var kind = Kind.documentEnd
    /// The position in the manifest of the next byte for libyaml.
    private(set) var fed: Int
    private let window: ByteWindow
    private let limits: ManifestLimits
    private let parser = UnsafeMutablePointer<yaml_parser_t>.allocate(capacity: 1)
    private let event = UnsafeMutablePointer<yaml_event_t>.allocate(capacity: 1)
    private let firstLine: Int
    private let firstOffset: Int
    /// Spaces for libyaml in place of the first line's indentation, which is already consumed.
    private let indentation: Int
    private var fedSpaces = 0
    /// The last converted mark.
    private var known: (index: Int, offset: Int)
    /// The start mark of the last event. Later marks are not before it.
    private var start = 0
    private var depth = 0
    private var isInDocument = false
    private var opensFlowMapping = false
    private var knownSpan: SourceSpan?
    private var failure: (any Error)?

    init(_ window: ByteWindow, limits: ManifestLimits) {
        self.window = window
        self.limits = limits
        source = window.input.name
        fed = window.offset
        firstLine = window.line
        firstOffset = window.offset
        indentation = min(window.indentation, Self.lookahead / 2)
        known = (indentation, window.offset)
        event.initialize(to: yaml_event_t())
        guard yaml_parser_initialize(parser) == 1 else { fatalError("out of memory") }
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

    func advance() throws {
        yaml_event_delete(event)
        knownSpan = nil
        guard yaml_parser_parse(parser, event) == 1 else { throw error() }
        let before = start
        let opensFlowMapping = opensFlowMapping
        self.opensFlowMapping = false
        start = Int(event.pointee.start_mark.index)
        switch event.pointee.type {
        case YAML_SCALAR_EVENT: kind = .scalar
        case YAML_ALIAS_EVENT: kind = .alias
        case YAML_SEQUENCE_START_EVENT:
            kind = .array
            try enter()
        case YAML_MAPPING_START_EVENT:
            kind = .dictionary
            try enter()
            self.opensFlowMapping =
                event.pointee.data.mapping_start.style == YAML_FLOW_MAPPING_STYLE
            if self.opensFlowMapping, opensFlowMapping, start == before + 1 {
                throw template(.line(line))
            }
        case YAML_SEQUENCE_END_EVENT, YAML_MAPPING_END_EVENT:
            kind = .end
            depth -= 1
        case YAML_DOCUMENT_START_EVENT:
            kind = .documentStart
            isInDocument = true
            let tags = event.pointee.data.document_start.tag_directives
            if let first = tags.start, let last = tags.end, last - first > Self.maximumTagLines {
                throw error(.tooLarge, "a document has more than \(Self.maximumTagLines) tags")
            }
        case YAML_STREAM_END_EVENT: kind = .streamEnd
        default:
            kind = .documentEnd
            isInDocument = false
        }
        if let tag, strnlen(tag, Self.maximumTagSize) == Self.maximumTagSize {
            throw error(.tooLarge, "a tag has more than \(Self.maximumTagSize) bytes")
        }
    }

    var line: Int { Int(event.pointee.start_mark.line) + firstLine }

    /// The text of a scalar.
    var text: String {
        let scalar = event.pointee.data.scalar
        return String(
            decoding: UnsafeBufferPointer(start: scalar.value, count: scalar.length),
            as: UTF8.self)
    }

    /// Whether a scalar's text decides its type.
    var isPlain: Bool {
        let scalar = event.pointee.data.scalar
        guard scalar.style == YAML_PLAIN_SCALAR_STYLE else { return false }
        guard let tag else { return true }
        return strcmp(tag, YAML_STR_TAG) != 0 && strcmp(tag, "!") != 0
    }

    /// The anchor of a value, or the name of an alias.
    var anchor: String? {
        let data = event.pointee.data
        let name =
            switch kind {
            case .scalar: data.scalar.anchor
            case .alias: data.alias.anchor
            case .array: data.sequence_start.anchor
            case .dictionary: data.mapping_start.anchor
            default: nil as UnsafeMutablePointer<yaml_char_t>?
            }
        return name.map { String(cString: $0) }
    }

    private var tag: UnsafePointer<CChar>? {
        let data = event.pointee.data
        let tag =
            switch kind {
            case .scalar: data.scalar.tag
            case .array: data.sequence_start.tag
            case .dictionary: data.mapping_start.tag
            default: nil as UnsafeMutablePointer<yaml_char_t>?
            }
        return tag.map { UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self) }
    }

    /// The place of a scalar or an alias, without its anchor and tag. A block scalar ends after the
    /// text of its last line.
    var span: SourceSpan {
        if let knownSpan { return knownSpan }
        let span = measuredSpan
        knownSpan = span
        return span
    }

    private var measuredSpan: SourceSpan {
        guard var from = offset(of: start), var to = offset(of: Int(event.pointee.end_mark.index))
        else { return .unknown }
        let bytes = window.unread
        let base = window.offset
        guard kind == .scalar else { return SourceSpan(from..<to) }
        let scalar = event.pointee.data.scalar
        if scalar.anchor != nil || scalar.tag != nil {
            from = base + bytes.endOfProperties(from - base, to - base)
        }
        if scalar.style == YAML_LITERAL_SCALAR_STYLE || scalar.style == YAML_FOLDED_SCALAR_STYLE {
            while to > from, bytes[to - base - 1].isMarkupBlank { to -= 1 }
        }
        return from < to ? SourceSpan(from..<to) : .unknown
    }

    func error(_ code: ManifestError.Code, _ reason: String) -> ManifestError {
        ManifestError(code, source: source, at: .line(line), reason)
    }

    private func enter() throws {
        depth += 1
        guard depth <= Self.maximumDepth else {
            throw error(.tooDeep, "the YAML nests deeper than \(Self.maximumDepth) levels")
        }
    }

    private func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
        if fedSpaces < indentation {
            let spaces = buffer.prefix(indentation - fedSpaces)
            for index in spaces.indices { buffer[index] = UInt8(ascii: " ") }
            fedSpaces += spaces.count
            return spaces.count
        }
        if fed == window.offset + window.count {
            _ = offset(of: start)
            window.consume(known.offset - window.offset)
            // Directives and comments are before a document.
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
        let next = window.unread[(fed - window.offset)...].prefix(buffer.count)
        buffer.copyBytes(from: next)
        fed += next.count
        return next.count
    }

    /// Converts a mark's character index to a position in the manifest. Returns nil for a mark
    /// before the last one.
    private func offset(of index: Int) -> Int? {
        guard index >= known.index else { return index < indentation ? known.offset : nil }
        let position = window.unread.position(
            after: index - known.index, from: known.offset - window.offset)
        known = (index, window.offset + position)
        return known.offset
    }

    private func error() -> any Error {
        if let failure { return failure }
        let state = parser.pointee
        let problem = state.problem.map { String(cString: $0) } ?? "unknown error"
        if state.error == YAML_MEMORY_ERROR {
            return ManifestError(.tooLarge, source: source, "out of memory")
        }
        if state.error == YAML_READER_ERROR {
            let offset = firstOffset + state.problem_offset - indentation - window.offset
            let reason =
                problem.utf8.starts(with: "control".utf8)
                ? "the character U+\(String(state.problem_value, radix: 16, uppercase: true))"
                    + " is not allowed in YAML"
                : "the text is not valid UTF-8"
            return window.error(.malformed, at: max(0, min(offset, window.count)), reason)
        }
        let start = max(0, known.offset - window.offset)
        let found = offset(of: Int(state.problem_mark.index)).map { $0 - window.offset }
        let place =
            found.map(window.place)
            ?? .line(Int(state.problem_mark.line) + firstLine)
        let near = window.unread[start...].prefix(max(0, (found ?? start) + 2 - start))
        if near.holds("{{") || near.holds("{%") { return template(place) }
        if problem.isSame(as: "found character that cannot start any token"), let found,
            found < window.count
        {
            let advice = window.unread[found] == 0x09 ? "; indent with spaces" : ""
            let character = JSONText.character(window.unread, at: found)
            return ManifestError(
                .malformed, source: source, at: place,
                "the YAML is invalid: \(character) cannot start a value\(advice)")
        }
        var reason = "the YAML is invalid: \(problem)"
        if let context = state.context {
            reason += " \(String(cString: context))"
            if state.context_mark.line < state.problem_mark.line {
                reason += " that starts in line \(Int(state.context_mark.line) + firstLine)"
            }
        }
        return ManifestError(.malformed, source: source, at: place, reason)
    }

    private func template(_ place: ManifestError.Place) -> ManifestError {
        ManifestError(.notAManifest, source: source, at: place, YAMLText.template)
    }
}
