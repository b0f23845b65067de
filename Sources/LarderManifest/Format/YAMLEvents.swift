import LarderCore

/// The events of a YAML stream, in which an alias can be replaced by the events of its anchor.
///
/// Events of anchored values are kept until the document ends. Kept and repeated events are
/// limited, because aliases can expand without bound.
final class YAMLEvents {
    private struct Event {
        let kind: YAMLParser.Kind
        let text: String
        let isPlain: Bool
        let span: SourceSpan
        let line: Int
        let target: Int
    }

    private struct Anchor {
        let start: Int
        /// The end of the value. Nil until the value ends, or if it is too large to keep.
        var end: Int?
    }

    private struct Replay {
        var next: Int
        let end: Int
        let outerDepth: Int
    }

    typealias Mark = (replays: Int, depth: Int)

    private static let maximumAnchors = 10_000
    private static let maximumKept = 8 << 20
    private static let eventSize = 64

    private(set) var kind = YAMLParser.Kind.documentEnd
    private let parser: YAMLParser
    /// The index in ``kept`` of the current event, if it is repeated. If nil, there are no
    /// ``replays``.
    private var repeated: Int?
    private var replays: [Replay] = []
    /// The depth in the innermost replay, or else in the document.
    private var depth = 0
    private var target = 0
    private var anchors: [Anchor] = []
    private var names: [String: Int] = [:]  // text: libyaml allows only ASCII names
    private var open: [(anchor: Int, depth: Int)] = []
    private var kept: [Event] = []
    private var keptSize = 0
    private var repeatedSize = 0

    init(_ parser: YAMLParser) { self.parser = parser }

    var line: Int { repeated.map { kept[$0].line } ?? parser.line }
    var span: SourceSpan { repeated.map { kept[$0].span } ?? parser.span }
    var progress: Int { parser.fed + repeatedSize }
    var mark: Mark { (replays.count, depth) }

    var valueKind: YAMLParser.Kind { kind == .alias ? kept[anchors[target].start].kind : kind }

    func advance() throws {
        switch kind {
        case .array, .dictionary: depth += 1
        case .end: depth -= 1
        default: break
        }
        // The first condition is much faster than access to the array.
        while repeated != nil, let replay = replays.last {
            if replay.next < replay.end {
                replays[replays.count - 1].next += 1
                return try use(replay.next)
            }
            depth = replay.outerDepth
            replays.removeLast()
        }
        repeated = nil
        try parser.advance()
        kind = parser.kind
        switch kind {
        case .scalar, .array, .dictionary: if let name = parser.anchor { try add(name) }
        case .alias: target = try find(parser.anchor ?? "")
        case .documentStart:
            (anchors, names, open) = ([], [:], [])
            (kept, keptSize) = ([], 0)
        case .end, .documentEnd, .streamEnd: break
        }
        if !open.isEmpty { keep() }
    }

    func enterAlias() throws {
        let anchor = anchors[target]
        replays.append(
            Replay(next: anchor.start, end: anchor.end ?? anchor.start, outerDepth: depth))
        depth = 0
        repeated = anchor.start
        try advance()
    }

    func scalar() throws -> (text: String, isPlain: Bool) {
        if kind == .alias { try charge(kept[anchors[target].start]) }
        guard let index = kind == .alias ? anchors[target].start : repeated else {
            return (parser.text, parser.isPlain)
        }
        return (kept[index].text, kept[index].isPlain)
    }

    func skip(from mark: Mark) throws {
        var isDone = false
        if replays.count > mark.replays {
            // Leaves the alias, which is a whole value.
            depth = replays[mark.replays].outerDepth
            replays.removeLast(replays.count - mark.replays)
            kind = .alias
            try advance()
            isDone = depth == mark.depth
        }
        while !isDone {
            let isOpening = kind == .array || kind == .dictionary
            isDone = !isOpening && depth - (kind == .end ? 1 : 0) == mark.depth
            try advance()
        }
    }

    private func use(_ index: Int) throws {
        let event = kept[index]
        try charge(event)
        repeated = index
        kind = event.kind
        target = event.target
    }

    private func charge(_ event: Event) throws {
        repeatedSize += Self.eventSize + event.text.utf8.count
        let limit = 100 * parser.fed + 16 << 20
        guard repeatedSize <= limit else {
            throw parser.error(.tooLarge, "aliases expand to more than \(limit) bytes")
        }
    }

    private func add(_ name: String) throws {
        guard anchors.count < Self.maximumAnchors else {
            throw parser.error(.tooLarge, "a document has more than \(Self.maximumAnchors) anchors")
        }
        names[name] = anchors.count
        open.append((anchors.count, depth))
        anchors.append(Anchor(start: kept.count, end: nil))
    }

    private func find(_ name: String) throws -> Int {
        let shown = "*\(name)".quoted(limit: 40)
        guard let anchor = names[name] else {
            throw parser.error(.malformed, "the alias \(shown) has no anchor")
        }
        guard anchors[anchor].end != nil else {
            guard keptSize > Self.maximumKept else {
                throw parser.error(.malformed, "the alias \(shown) is inside its own value")
            }
            throw parser.error(
                .tooLarge, "anchored values have more than \(Self.maximumKept) bytes")
        }
        return anchor
    }

    /// Keeps the current event for aliases, and closes the anchors that end with it.
    private func keep() {
        let isScalar = kind == .scalar
        let text = isScalar ? parser.text : ""
        keptSize += Self.eventSize + text.utf8.count
        guard keptSize <= Self.maximumKept else {
            open = []
            return
        }
        kept.append(
            Event(
                kind: kind, text: text, isPlain: isScalar && parser.isPlain,
                span: isScalar || kind == .alias ? parser.span : .unknown, line: parser.line,
                target: target))
        let inner = kind == .end ? depth - 1 : depth
        guard isScalar || kind == .end, let last = open.last, last.depth == inner else { return }
        anchors[last.anchor].end = kept.count
        open.removeLast()
    }
}
