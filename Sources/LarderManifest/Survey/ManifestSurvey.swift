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

extension ManifestSurvey {
    /// So much is kept of a source that is read only once.
    static let mostKept = 1 << 20
    /// So many places are tried, and so many suggested.
    private static let mostTried = 8
    private static let mostSuggested = 3

    /// Where the icons of a manifest may be that has none where `rules` say: what was tried, and
    /// found them.
    ///
    /// - Parameter isPart: whether the source is the beginning of a manifest.
    static func suggestions(
        for source: ManifestSource, isPart: Bool, rules: ManifestRules
    ) -> [ManifestSuggestion] {
        let survey = ManifestSurvey(of: source, limits: rules.limits)
        var suggestions: [ManifestSuggestion] = []
        for candidate in SurveyCandidate.all(in: survey).prefix(mostTried) {
            guard suggestions.count < mostSuggested else { break }
            let found = suggestion(for: candidate, source, isPart: isPart, rules)
            if let found { suggestions.append(found) }
        }
        return suggestions
    }

    private static func suggestion(
        for candidate: SurveyCandidate, _ source: ManifestSource, isPart: Bool,
        _ rules: ManifestRules
    ) -> ManifestSuggestion? {
        guard let icon = ManifestPath.pasteable(candidate.icon) else { return nil }
        let name = candidate.name.flatMap(ManifestPath.pasteable)
        for entries in candidate.entryPaths {
            var rules = rules
            rules.entries = entries
            rules.iconKeys = [icon]
            rules.nameKey = name
            rules.priorityKey = nil
            rules.integrityKey = nil
            let trial = Trial(of: source, rules, isPart: isPart)
            if trial.isSound {
                return ManifestSuggestion(
                    entries: entries, icon: icon, name: name, count: trial.found,
                    isPart: isPart || trial.isCut,
                    isRelative: trial.relative * 2 > trial.found)
            }
        }
        return nil
    }

    /// What reading a manifest by some rules gives.
    private struct Trial {
        /// How many entries have an icon, and of how many the first one is relative to nothing.
        private(set) var found = 0
        private(set) var relative = 0
        private var failed = 0
        private var seen = 0
        private var isBroken = false
        /// Whether there may be more than was looked at.
        var isCut: Bool { seen == ManifestSuggestion.mostEntries }

        private struct Enough: Error {}

        /// - Parameter isPart: whether the source ends early, which tells enough.
        init(of source: ManifestSource, _ rules: ManifestRules, isPart: Bool) {
            do {
                try read(source, rules)
            } catch {
                isBroken = !(error is Enough) && !isPart
            }
        }

        private mutating func read(_ source: ManifestSource, _ rules: ManifestRules) throws {
            _ = try ManifestReader(source: source, rules: rules).read(source.open()) { item in
                guard item.icon == 1 else { return }
                switch item.result {
                case .entry, .inline: found += 1
                case .failed(let error) where error.code == .relativeURL:
                    found += 1
                    relative += 1
                case .failed(let error) where error.code == .unsupportedScheme: found += 1
                case .failed: failed += 1
                case .skipped: break
                }
                // Those without an icon cost as much to read as others.
                seen += 1
                if isCut { throw Enough() }
            }
        }

        /// Whether the rules fit: hardly anything there is no entry.
        var isSound: Bool { !isBroken && found > 0 && failed * 10 <= found }
    }
}

extension SurveyCandidate {
    /// What `--entries` may be for it, the shortest first; nil leaves them to the manifest's form.
    fileprivate var entryPaths: [ManifestPath?] {
        guard let last = entries.last else { return [nil, ManifestPath(segments: [])] }
        let whole = ManifestPath.pasteable(entries)
        guard entries.count > 1 else { return [nil, whole] }
        // A path to an array stands for its elements, unless it is itself one of several.
        let isOneOfSeveral = [.elements, .members].contains(entries[entries.count - 2])
        let isList = last == .elements && !isOneOfSeveral
        return [isList ? ManifestPath.pasteable(entries.dropLast()) : whole].filter { $0 != nil }
    }
}

/// Where the icons of a manifest of no known shape may be, as options that find them there.
public struct ManifestSuggestion: Equatable, Sendable {
    /// Where the entries are; nil if the manifest's own form tells.
    public let entries: ManifestPath?
    /// Where an entry's icon is.
    public let icon: ManifestPath
    /// Where its name is; nil if nothing looks like one.
    public let name: ManifestPath?
    /// How many entries have an icon there.
    public let count: Int
    /// Whether there may be more: no more than ``mostEntries`` were looked at, or the beginning of
    /// a manifest that could be read only once.
    public let isPart: Bool
    /// Whether these are relative, and need a base URL.
    public let isRelative: Bool

    /// So many entries are looked at, with an icon or without.
    public static let mostEntries = 100_000

    /// The options, as a shell takes them.
    public var options: String {
        let options = [("--entries", entries), ("--icon-key", icon), ("--name-key", name)]
        return options.compactMap { option, path in
            path.map { "\(option) \($0.textForShell.shellQuoted)" }
        }.joined(separator: " ")
    }

    /// Number and options in words, as a part of a sentence; safe to print.
    var words: String {
        (isPart ? "at least " : "")
            + count.of("entry looks like an icon", "entries look like icons")
            + " at \(options)\(remark)"
    }

    /// Several as the end of a message.
    static func words(_ suggestions: [ManifestSuggestion]) -> String? {
        guard let best = suggestions.first else { return nil }
        return
            ([best.words]
            + suggestions.dropFirst().map { "\($0.count) at \($0.options)\($0.remark)" })
            .joined(separator: "; ")
    }

    /// Whether it leads to the icons that entries have at one of some paths.
    func isAny(of icons: [ManifestPath]) -> Bool {
        let entries = entries?.segments ?? []
        let whole = [entries + icon.segments, entries + [.elements] + icon.segments]
        return icons.contains { path in
            whole.contains { $0.suffix(path.segments.count).elementsEqual(path.segments) }
        }
    }

    /// What the options need besides.
    private var remark: String { isRelative ? " (relative: add --base-url)" : "" }
}

extension ManifestPath {
    /// With the marks that need no quoting between a shell's single ones.
    fileprivate var textForShell: String { text(quotedBy: "\"") }

    /// The path if its text can be printed, pasted and read again as the same; nil otherwise.
    static func pasteable(_ segments: [Segment]) -> ManifestPath? {
        let path = ManifestPath(segments: segments)
        let text = path.textForShell
        guard text.utf8.count <= 200, text.sanitizedForTerminal.isSame(as: text),
            (try? ManifestPath(text)) == path
        else { return nil }
        return path
    }
}
