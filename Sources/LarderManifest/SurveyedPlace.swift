/// A path, with counts of its values. Elements of an array share a place, as do members of a map.
final class SurveyedPlace {
    /// A dictionary with more containers or more scalars than these limits is a map.
    private static let maximumContainers = 16
    private static let maximumValues = 128
    private static let maximumNameSize = 200
    private static let usualInnerNames = ["label", "en", "en-US", "value", "text"]

    private(set) var count = 0
    private(set) var dictionaries = 0
    private var containers = 0
    private(set) var texts = 0
    private(set) var icons = 0
    private(set) var likeness = 0
    /// The places of members and elements. All members of a map have the place `.members`.
    private(set) var inner: [ManifestPath.Segment: SurveyedPlace] = [:]
    private var hasMappedValues = false
    var totalIcons: Int { inner.values.reduce(icons) { $0 + $1.totalIcons } }
    private var totalPlaces: Int { inner.values.reduce(1) { $0 + $1.totalPlaces } }
    private let rank: Int?
    /// Whether the place may be a map. False in XML, where the names of elements are not keys.
    private let mayBeMap: Bool

    init(rank: Int? = nil, mayBeMap: Bool = true) {
        self.rank = rank
        self.mayBeMap = mayBeMap
    }

    func add(_ kind: ValueKind) {
        count += 1
        if kind == .dictionary { dictionaries += 1 }
        if kind != .scalar { containers += 1 }
    }

    func add(_ text: String) {
        let likeness = IconLikeness.likeness(of: text, rank: rank)
        if likeness > 0 {
            icons += 1
            self.likeness += likeness
        } else if !text.isEmpty, text.utf8.count <= 200 {
            texts += 1
        }
    }

    func element(_ room: inout Int) -> SurveyedPlace? { place(.elements, rank, &room) }

    func member(_ name: String, isContainer: Bool, _ room: inout Int) -> SurveyedPlace? {
        if let found = inner[.member(name)] { return found }
        if isContainer || hasMappedValues, let map = inner[.members] { return map }
        let alike = mayBeMap ? members.filter { ($0.place.containers > 0) == isContainer } : []
        if alike.count >= (isContainer ? Self.maximumContainers : Self.maximumValues) {
            let map = inner[.members] ?? SurveyedPlace(rank: rank)
            inner[.members] = map
            if !isContainer { hasMappedValues = true }
            for (name, place) in alike {
                map.merge(place)
                inner[.member(name)] = nil
            }
            return map
        }
        guard name.utf8.count <= Self.maximumNameSize else { return nil }
        return place(.member(name), IconLikeness.rank(IconLikeness.rank(of: name), in: rank), &room)
    }

    private func place(
        _ segment: ManifestPath.Segment, _ rank: Int?, _ room: inout Int
    ) -> SurveyedPlace? {
        if let known = inner[segment] { return known }
        guard room > 0 else { return nil }
        room -= 1
        let place = SurveyedPlace(rank: rank, mayBeMap: mayBeMap)
        inner[segment] = place
        return place
    }

    private var members: [(name: String, place: SurveyedPlace)] {
        inner.compactMap { segment, place in
            if case .member(let name) = segment { (name, place) } else { nil }
        }
    }

    private func merge(_ other: SurveyedPlace) {
        count += other.count
        dictionaries += other.dictionaries
        containers += other.containers
        texts += other.texts
        icons += other.icons
        likeness += other.likeness
        for (segment, theirs) in other.inner {
            let own = inner[segment] ?? SurveyedPlace(rank: theirs.rank)
            own.merge(theirs)
            inner[segment] = own
        }
    }

    /// Returns one place for all members if they are similar, such as entries keyed by ID.
    func map(_ room: inout Int) -> SurveyedPlace? {
        if let map = inner[.members] { return map }
        guard mayBeMap else { return nil }
        room -= totalPlaces
        guard room > 0 else { return nil }
        let members = members
        let alike = members.map(\.place).filter { $0.containers > 0 || $0.icons > 0 }
        // The same member names recur in most entries, but each ID occurs only once.
        let all = members.reduce(0) { $0 + $1.place.count }
        guard count == 1 || all * 4 <= members.count * count else { return nil }
        var supporters: [[ManifestPath.Segment]: Int] = [:]
        for place in alike {
            for path in Set(place.leaves.prefix(64)) { supporters[path, default: 0] += 1 }
        }
        let isAlike = supporters.contains { path, supporters in
            let isInDictionaries = !path.isEmpty && path.first != .elements
            guard count == 1 || isInDictionaries else { return false }
            return supporters >= (isInDictionaries ? 2 : 3)
                && supporters * 2 >= (path.isEmpty ? members.count : alike.count)
        }
        guard isAlike else { return nil }
        let map = SurveyedPlace(rank: rank)
        for place in alike { map.merge(place) }
        return map
    }

    private var leaves: [[ManifestPath.Segment]] {
        let wholes = [ManifestPath.Segment.elements, .members].compactMap { segment in
            inner[segment].map { (segment, $0) }
        }
        let places = wholes + inOrder.map { (.member($0.name), $0.place) }
        return (icons > 0 ? [[]] : [])
            + places.flatMap { segment, place in place.leaves.map { [segment] + $0 } }
    }

    var inOrder: [(name: String, place: SurveyedPlace)] {
        members.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    var namePath: [ManifestPath.Segment]? {
        var best: (rank: Int, path: [ManifestPath.Segment])?
        func offer(_ rank: Int, _ place: SurveyedPlace, _ path: [ManifestPath.Segment]) {
            guard rank > 0, rank > best?.rank ?? 0, place.texts * 2 >= count else { return }
            best = (rank, path)
        }
        // Among names of equal rank, prefers the shortest: `trackName`, not `trackCensoredName`.
        for (name, place) in inOrder.sorted(by: { $0.name.utf8.count < $1.name.utf8.count }) {
            let rank = IconLikeness.nameRank(of: name)
            offer(rank, place, [.member(name)])
            // The name may be nested, as in `{"im:name": {"label": …}}` or translations.
            for (inner, place) in place.inOrder {
                let isUsual = Self.usualInnerNames.contains { $0.isSame(as: inner) }
                offer(isUsual ? rank - 2 : rank - 4, place, [.member(name), .member(inner)])
            }
        }
        return best?.path
    }
}

/// A possible path to icons, split at the entry.
struct SurveyCandidate {
    let entries: [ManifestPath.Segment]
    let icon: [ManifestPath.Segment]
    let name: [ManifestPath.Segment]?
    let score: Int
    private let isScreenshot: Bool
    private let icons: Int

    private static let maximumCandidates = 256

    static func all(in survey: ManifestSurvey) -> [SurveyCandidate] {
        var found: [SurveyCandidate] = []
        var room = 25 * ManifestSurvey.maximumPlaces
        collect(at: [], [survey.root], &room, &found)
        found.sort { one, other in
            guard one.isScreenshot == other.isScreenshot else { return other.isScreenshot }
            return (one.score, other.path.count) > (other.score, one.path.count)
        }
        // A path with a wildcard replaces one with a name only if it finds more icons.
        return found.filter { one in
            !found.contains { other in
                one.isPart(of: other) && other.icons > one.icons
                    || other.isPart(of: one) && other.icons == one.icons
            }
        }
    }

    private var path: [ManifestPath.Segment] { entries + icon }

    /// The values to try for `--entries`, in order. Nil means that the option is not needed.
    func entryPaths(_ notation: ManifestPath.Notation) -> [ManifestPath?] {
        guard let last = entries.last else { return [nil, ManifestPath(segments: [])] }
        let whole = ManifestPath.pasteable(entries, notation)
        guard entries.count > 1 else { return [nil, whole] }
        // A path to an array selects its elements, unless a wildcard selects the array.
        let isOneOfSeveral = [.elements, .members].contains(entries[entries.count - 2])
        let isList = last == .elements && !isOneOfSeveral
        let list = isList ? ManifestPath.pasteable(entries.dropLast(), notation) : whole
        return [list].filter { $0 != nil }
    }

    private func isPart(of other: SurveyCandidate) -> Bool {
        path != other.path && path.count == other.path.count
            && zip(path, other.path).allSatisfy { own, theirs in
                own == theirs || theirs == .members && own != .elements
            }
    }

    private static func collect(
        at path: [ManifestPath.Segment], _ places: [SurveyedPlace], _ room: inout Int,
        _ found: inout [SurveyCandidate]
    ) {
        guard found.count < maximumCandidates, let place = places.last, place.totalIcons > 0
        else { return }
        if place.icons > place.texts { found.append(SurveyCandidate(path, places)) }
        func go(to next: SurveyedPlace?, by segment: ManifestPath.Segment) {
            guard let next else { return }
            collect(at: path + [segment], places + [next], &room, &found)
        }
        go(to: place.inner[.elements], by: .elements)
        go(to: place.map(&room), by: .members)
        for (name, member) in place.inOrder { go(to: member, by: .member(name)) }
    }

    /// Chooses the entry on the path: the innermost repeated dictionary with a name, or else the
    /// outermost repeated dictionary, the icon itself if it is repeated, or its parent.
    private init(_ path: [ManifestPath.Segment], _ places: [SurveyedPlace]) {
        func isRepeated(_ length: Int) -> Bool {
            guard length > 0 else { return places[0].count > 1 }
            // XML has no arrays, so any element can be repeated.
            return [.elements, .members].contains(path[length - 1])
                || places[length].count > places[length - 1].count
        }
        let leaf = places[path.count]
        let repeated = (0...path.count).filter(isRepeated)
        let dictionaries = repeated.filter { $0 < path.count && places[$0].dictionaries > 0 }
        let length =
            dictionaries.last { places[$0].namePath != nil } ?? dictionaries.first
            ?? (repeated.contains(path.count) ? path.count : max(0, path.count - 1))
        entries = Array(path.prefix(length))
        icon = Array(path.dropFirst(length))
        name = length < path.count ? places[length].namePath : nil
        icons = leaf.icons
        isScreenshot = leaf.likeness < 2 * leaf.icons
        // A single icon scores less, because it may be the publisher's.
        score =
            leaf.likeness * min(leaf.icons, max(1, places[length].count)) / leaf.icons
            * (repeated.isEmpty ? 1 : 4)
    }
}
