/// A search for icons in a manifest of unknown shape, in one pass with bounded memory and time.
struct ManifestSurvey {
    private static let maximumDepth = 12
    static let maximumPlaces = 4_096
    /// The maximum number of bytes to search. The rest of a manifest is usually similar.
    private static let maximumBytes = 32 << 20

    private(set) var root = SurveyedPlace()
    private(set) var isXML = false
    private let limits: ManifestLimits
    private var room = Self.maximumPlaces

    init(of source: ManifestSource, limits: ManifestLimits) {
        self.limits = limits
        try? survey(source)
    }

    private struct Enough: Error {}

    private mutating func survey(_ source: ManifestSource) throws {
        let (format, window) = try ManifestFormat.open(source.open(), limits: limits)
        switch format {
        case .urlList: return
        case .xmlPlist, .xml:
            let xml = try ManifestXML(window, limits: limits)
            isXML = try !xml.begin()
            if isXML {
                root = SurveyedPlace(mayBeMap: false)
                return try survey(XMLCursor(xml, limits: limits), at: root, depth: 1)
            }
            let cursor = PlistCursor(xml, limits: limits)
            if try cursor.begin() { try survey(cursor, at: root, depth: 1) }
        case .binaryPlist: try survey(BinaryPlistCursor(window, limits: limits), at: root, depth: 1)
        case .yaml:
            let cursor = try YAMLCursor(window, limits: limits)
            while try cursor.beginDocument() { try survey(cursor, at: root, depth: 1) }
        case .json, .jsonLines:
            let cursor = JSONCursor(window, limits: limits)
            while try window.peekAfterSeparators() != nil { try survey(cursor, at: root, depth: 1) }
        }
    }

    private mutating func survey(
        _ cursor: some ManifestCursor, at place: SurveyedPlace, depth: Int
    ) throws {
        guard cursor.progress <= Self.maximumBytes else { throw Enough() }
        let kind = try cursor.kind()
        place.add(kind)
        switch kind {
        case .scalar: if case .success(.string(let text, _)) = try cursor.take() { place.add(text) }
        case .array:
            guard depth < Self.maximumDepth, let element = place.element(&room)
            else { return _ = try cursor.skip() }
            try cursor.forEachElement { try survey(cursor, at: element, depth: depth + 1) }
        case .dictionary:
            guard depth < Self.maximumDepth else { return _ = try cursor.skip() }
            try cursor.forEachMember { key in
                let isContainer = try cursor.kind() != .scalar
                // A path to an XML element selects the element's text.
                if isXML, case .success(ManifestPath.elementText) = key {
                    if case .success(.string(let text, _)) = try cursor.take() { place.add(text) }
                    return
                }
                guard case .success(let key) = key,
                    let member = place.member(key, isContainer: isContainer, &room)
                else { return _ = try cursor.skip() }
                try survey(cursor, at: member, depth: depth + 1)
            }
        }
    }

    /// The maximum number of bytes to keep from a source that cannot be reopened.
    static let maximumKept = 1 << 20
    private static let maximumTrials = 8
    private static let maximumSuggestions = 3

    static func suggestions(
        for source: ManifestSource, isPart: Bool, rules: ManifestRules
    ) -> [ManifestSuggestion] {
        let survey = ManifestSurvey(of: source, limits: rules.limits)
        var suggestions: [ManifestSuggestion] = []
        for candidate in SurveyCandidate.all(in: survey).prefix(maximumTrials)
        where suggestions.count < maximumSuggestions {
            let found = suggestion(
                for: candidate, isXML: survey.isXML, source, isPart: isPart, rules)
            if let found { suggestions.append(found) }
        }
        return suggestions
    }

    private static func suggestion(
        for candidate: SurveyCandidate, isXML: Bool, _ source: ManifestSource, isPart: Bool,
        _ rules: ManifestRules
    ) -> ManifestSuggestion? {
        let notation = isXML ? ManifestPath.Notation.element : .json
        guard let icon = ManifestPath.pasteable(candidate.icon, notation) else { return nil }
        let name = candidate.name.flatMap { ManifestPath.pasteable($0, notation) }
        for entries in candidate.entryPaths(isXML ? .document : .json) {
            var rules = rules
            rules.entries = entries.map { [$0] } ?? []
            rules.iconKeys = [icon]
            rules.iconTemplate = nil
            rules.nameKey = name
            rules.priorityKey = nil
            rules.integrityKey = nil
            var (found, relative, failed, seen) = (0, 0, 0, 0)
            var isCut: Bool { seen == ManifestSuggestion.mostEntries }
            do {
                _ = try ManifestReader(source: source, rules: rules).read(source.open()) { item in
                    guard item.icon == 1 else { return }
                    switch item.result {
                    case .failed, .unfetched(.data), .unfetched(.template): failed += 1
                    case .entry, .inline, .unfetched: found += 1
                    case .skipped: break
                    }
                    if case .unfetched(.relative) = item.result { relative += 1 }
                    // Entries without an icon are also counted, because they take as long to read.
                    seen += 1
                    if isCut { throw Enough() }
                }
            } catch {
                guard error is Enough || isPart else { continue }
            }
            if found > 0, failed * 10 <= found {
                return ManifestSuggestion(
                    entries: entries, icon: icon, name: name, count: found,
                    isPart: isPart || isCut, isRelative: relative * 2 > found)
            }
        }
        return nil
    }
}
