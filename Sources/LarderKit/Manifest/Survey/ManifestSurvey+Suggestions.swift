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
