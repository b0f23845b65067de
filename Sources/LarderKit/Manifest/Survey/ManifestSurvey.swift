/// A look over a manifest of no known shape, for where its icons may be: one pass, in bounded
/// memory and time, of which only places and counts are kept.
struct ManifestSurvey {
    /// Nothing deeper is looked at.
    private static let mostDepth = 12
    /// So many places are told apart.
    static let mostPlaces = 4_096
    /// How many bytes of the manifest are looked at: what follows is like them.
    private static let mostBytes = 32 << 20

    /// What lies where.
    let root = SurveyedPlace()
    private let limits: ManifestLimits
    private var room = Self.mostPlaces

    /// Looks over what a source has. What is broken, or ends early, is looked over up to there.
    init(of source: ManifestSource, limits: ManifestLimits) {
        self.limits = limits
        try? survey(source)
    }

    private struct Enough: Error {}

    private mutating func survey(_ source: ManifestSource) throws {
        var window = ByteWindow(try source.open())
        _ = try window.peek()
        if Inflater.isGzip(window.unread) {
            window = ByteWindow(try ByteInput(unpacking: window, limits: limits))
        }
        switch try ManifestFormat(of: window) {
        case .urlList: return
        case .xmlPlist:
            let reader = try PlistReader(window, limits: limits)
            let cursor = PlistCursor(reader: reader, limits: limits)
            guard try cursor.nextChild(), !reader.isEmpty, try cursor.nextChild() else { return }
            try survey(cursor, at: root, depth: 1)
        case .binaryPlist:
            let bytes = try BinaryPlistBytes(window, limits: limits)
            let cursor = BinaryPlistCursor(
                try BinaryPlist(bytes), limits: limits, name: window.input.name)
            try survey(cursor, at: root, depth: 1)
        case .json, .jsonLines:
            let cursor = JSONCursor(window, limits: limits)
            // In JSON Lines more than one.
            while try window.peekBehindSeparators() != nil {
                try survey(cursor, at: root, depth: 1)
            }
        }
    }

    private mutating func survey(
        _ cursor: some ManifestCursor, at place: SurveyedPlace, depth: Int
    ) throws {
        guard cursor.progress <= Self.mostBytes else { throw Enough() }
        let kind = try cursor.kind()
        place.add(kind)
        switch kind {
        case .scalar:
            if case .success(.string(let text)) = try cursor.take() { place.add(text) }
        case .array:
            guard depth < Self.mostDepth, let element = place.element(&room) else {
                return _ = try cursor.skip()
            }
            try cursor.forEachElement { try survey(cursor, at: element, depth: depth + 1) }
        case .dictionary:
            guard depth < Self.mostDepth else { return _ = try cursor.skip() }
            try cursor.forEachMember { key in
                let isContainer = try cursor.kind() != .scalar
                guard case .success(let key) = key,
                    let member = place.member(key, isContainer: isContainer, &room)
                else { return _ = try cursor.skip() }
                try survey(cursor, at: member, depth: depth + 1)
            }
        }
    }
}
