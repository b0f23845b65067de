import LarderCore

/// The events of a YAML stream, in which an alias can be replaced by the events of its anchor.
/// Events of anchored values are kept until the document ends. Kept and repeated events are
/// limited, because aliases can expand without bound.
final class YAMLEvents {
    typealias Mark = (replays: Int, depth: Int)

    private static let maximumAnchors = 10_000
    private static let maximumKept = 8 << 20
    private static let eventSize = 64

    private(set) var event = YAMLParser.Event(kind: .documentEnd, line: 0)
    private let parser: YAMLParser
    private var replays: [(next: Int, end: Int, outerDepth: Int)] = []
    /// The depth in the innermost replay, or else in the document.
    private var depth = 0
    /// The ranges of anchored values in ``kept``. An end is nil until the whole value is kept.
    private var anchors: [(start: Int, end: Int?)] = []
    private var names: [String: Int] = [:]  // text: libyaml allows only ASCII names
    private var open: [(anchor: Int, depth: Int)] = []
    private var kept: [YAMLParser.Event] = []
    private var keptSize = 0
    private var repeatedSize = 0

    init(_ parser: YAMLParser) { self.parser = parser }

    var kind: YAMLParser.Kind { event.kind }
    var progress: Int { parser.fed + repeatedSize }
    var mark: Mark { (replays.count, depth) }

    var valueKind: ValueKind {
        switch kind == .alias ? kept[anchors[event.target].start].kind : kind {
        case .array: .array
        case .dictionary: .dictionary
        default: .scalar
        }
    }

    func advance() throws {
        switch kind {
        case .array, .dictionary: depth += 1
        case .end: depth -= 1
        default: break
        }
        while let replay = replays.last {
            if replay.next < replay.end {
                replays[replays.count - 1].next += 1
                event = kept[replay.next]
                return try charge(event)
            }
            depth = replay.outerDepth
            replays.removeLast()
        }
        event = try parser.next()
        switch kind {
        case .scalar, .array, .dictionary: if let name = event.anchor { try add(name) }
        case .alias: event.target = try find(event.anchor ?? "")
        case .documentStart:
            (anchors, names, open) = ([], [:], [])
            (kept, keptSize) = ([], 0)
        case .end, .documentEnd, .streamEnd: break
        }
        if !open.isEmpty { keep() }
    }

    func enterAlias() throws {
        let anchor = anchors[event.target]
        replays.append((anchor.start, anchor.end ?? anchor.start, depth))
        depth = 0
        try advance()
    }

    func scalar() throws -> YAMLParser.Event {
        guard kind == .alias else { return event }
        let scalar = kept[anchors[event.target].start]
        try charge(scalar)
        return scalar
    }

    func skip(from mark: Mark) throws {
        var isDone = false
        if replays.count > mark.replays {
            // Leaves the alias, which is a whole value.
            depth = replays[mark.replays].outerDepth
            replays.removeLast(replays.count - mark.replays)
            event.kind = .alias
            try advance()
            isDone = depth == mark.depth
        }
        while !isDone {
            let isOpening = kind == .array || kind == .dictionary
            isDone = !isOpening && depth - (kind == .end ? 1 : 0) == mark.depth
            try advance()
        }
    }

    private func charge(_ event: YAMLParser.Event) throws {
        repeatedSize += Self.eventSize + event.text.utf8.count
        let limit = 100 * parser.fed + 16 << 20
        guard repeatedSize <= limit
        else { throw parser.error(.tooLarge, "aliases expand to more than \(limit) bytes") }
    }

    private func add(_ name: String) throws {
        guard anchors.count < Self.maximumAnchors else {
            throw parser.error(.tooLarge, "a document has more than \(Self.maximumAnchors) anchors")
        }
        names[name] = anchors.count
        open.append((anchors.count, depth))
        anchors.append((kept.count, nil))
    }

    private func find(_ name: String) throws -> Int {
        let shown = "*\(name)".quoted(limit: 40)
        guard let anchor = names[name]
        else { throw parser.error(.malformed, "the alias \(shown) has no anchor") }
        if anchors[anchor].end != nil { return anchor }
        guard keptSize > Self.maximumKept
        else { throw parser.error(.malformed, "the alias \(shown) is inside its own value") }
        throw parser.error(.tooLarge, "anchored values have more than \(Self.maximumKept) bytes")
    }

    private func keep() {
        keptSize += Self.eventSize + event.text.utf8.count
        guard keptSize <= Self.maximumKept else {
            open = []
            return
        }
        kept.append(event)
        let inner = kind == .end ? depth - 1 : depth
        if kind == .scalar || kind == .end, let last = open.last, last.depth == inner {
            anchors[last.anchor].end = kept.count
            open.removeLast()
        }
    }
}
