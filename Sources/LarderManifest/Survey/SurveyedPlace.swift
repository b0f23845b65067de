/// What lies at one place of an unknown manifest, and beneath it: values are counted there, and
/// none is kept. Of what a place has beneath it, elements of an array are one place, and so are the
/// members of a dictionary with very many: a map.
final class SurveyedPlace {
    /// So many arrays and dictionaries, or other values, have places of their own in one
    /// dictionary; if there are more, it is a map.
    private static let mostContainers = 16
    private static let mostValues = 128
    private static let longestName = 200
    private static let usualInnerNames = ["label", "en", "en-US", "value", "text"]

    /// How many values are there, and how many of them are dictionaries, dictionaries or arrays,
    /// short texts, and icons.
    private(set) var count = 0
    private(set) var dictionaries = 0
    private var containers = 0
    private(set) var texts = 0
    private(set) var icons = 0
    /// How many of the icons are URLs on their own.
    private(set) var absolute = 0
    /// How much all icons together look like ones.
    private(set) var likeness = 0
    /// The elements of arrays that are there.
    private(set) var elements: SurveyedPlace?
    /// The members of dictionaries that are there, by name.
    private var members: [[UInt8]: (name: String, place: SurveyedPlace)] = [:]
    /// The members of a map.
    private var mapped: SurveyedPlace?
    private var hasMappedValues = false
    /// How many icons are there and beneath, and how many places, as ``settle()`` has counted.
    private(set) var iconsBeneath = 0
    private var placesBeneath = 0
    private let rank: Int?

    init(rank: Int? = nil) { self.rank = rank }

    /// Counts a value.
    func add(_ kind: ValueKind) {
        count += 1
        if kind == .dictionary { dictionaries += 1 }
        if kind != .scalar { containers += 1 }
    }

    /// Counts a text.
    func add(_ text: String) {
        let likeness = IconLikeness.likeness(of: text, rank: rank)
        if likeness > 0 {
            icons += 1
            self.likeness += likeness
            if text.utf8.prefix(64).contains(UInt8(ascii: ":")) { absolute += 1 }
        } else if !text.isEmpty, text.utf8.count <= 200 {
            texts += 1
        }
    }

    /// The place of an array's elements; nil if there is no room for it.
    func element(_ room: inout Int) -> SurveyedPlace? {
        if let elements { return elements }
        elements = make(rank, &room)
        return elements
    }

    /// The place of a dictionary's member; nil if there is no room for it.
    func member(_ name: String, isContainer: Bool, _ room: inout Int) -> SurveyedPlace? {
        let key = Array(name.utf8)
        if let found = members[key] { return found.place }
        if isContainer || hasMappedValues, let mapped { return mapped }
        let alike = members.values.filter { ($0.place.containers > 0) == isContainer }
        if alike.count >= (isContainer ? Self.mostContainers : Self.mostValues) {
            let map = mapped ?? SurveyedPlace(rank: rank)
            mapped = map
            if !isContainer { hasMappedValues = true }
            for (name, place) in alike {
                map.merge(place)
                members[Array(name.utf8)] = nil
            }
            return map
        }
        guard key.count <= Self.longestName else { return nil }
        let own = IconLikeness.rank(of: name)
        let place = make(IconLikeness.rank(own, beneath: rank), &room)
        members[key] = place.map { (name, $0) }
        return place
    }

    private func make(_ rank: Int?, _ room: inout Int) -> SurveyedPlace? {
        guard room > 0 else { return nil }
        room -= 1
        return SurveyedPlace(rank: rank)
    }

    private func merge(_ other: SurveyedPlace) {
        count += other.count
        dictionaries += other.dictionaries
        containers += other.containers
        texts += other.texts
        icons += other.icons
        absolute += other.absolute
        likeness += other.likeness
        if let theirs = other.elements {
            let own = elements ?? SurveyedPlace(rank: theirs.rank)
            own.merge(theirs)
            elements = own
        }
        if let theirs = other.mapped {
            let own = mapped ?? SurveyedPlace(rank: theirs.rank)
            own.merge(theirs)
            mapped = own
        }
        for (key, member) in other.members {
            let own = members[key]?.place ?? SurveyedPlace(rank: member.place.rank)
            own.merge(member.place)
            members[key] = (member.name, own)
        }
    }

    /// Counts what is there and beneath, once all is there.
    func settle() {
        let inner = [elements, mapped].compactMap(\.self) + members.values.map(\.place)
        for place in inner { place.settle() }
        iconsBeneath = inner.reduce(icons) { $0 + $1.iconsBeneath }
        placesBeneath = inner.reduce(1) { $0 + $1.placesBeneath }
    }

    /// All members as one place, if they are alike: a dictionary of entries by id, or of lists of
    /// them.
    ///
    /// - Parameter room: how many places may be merged yet.
    func map(_ room: inout Int) -> SurveyedPlace? {
        if let mapped { return mapped }
        room -= placesBeneath
        guard room > 0 else { return nil }
        let inner = members.values.map(\.place).filter { $0.containers > 0 || $0.icons > 0 }
        // The members of an entry are in nearly every other entry, too.
        let all = members.values.reduce(0) { $0 + $1.place.count }
        guard count == 1 || all * 4 <= members.count * count else { return nil }
        var supporters: [[ManifestPath.Segment]: Int] = [:]
        for place in inner {
            for path in Set(place.leaves.prefix(64)) { supporters[path, default: 0] += 1 }
        }
        let isAlike = supporters.contains { path, supporters in
            let isOfDictionaries = !path.isEmpty && path.first != .elements
            guard count == 1 || isOfDictionaries else { return false }
            return supporters >= (isOfDictionaries ? 2 : 3)
                && supporters * 2 >= (path.isEmpty ? members.count : inner.count)
        }
        guard isAlike else { return nil }
        let map = SurveyedPlace(rank: rank)
        for place in inner { map.merge(place) }
        map.settle()
        return map
    }

    /// The paths to all icons that are there and beneath.
    private var leaves: [[ManifestPath.Segment]] {
        (icons > 0 ? [[]] : [])
            + (elements.map { $0.leaves.map { [.elements] + $0 } } ?? [])
            + (mapped.map { $0.leaves.map { [.members] + $0 } } ?? [])
            + members.values.flatMap { name, place in
                place.leaves.map { [.member(name)] + $0 }
            }
    }

    /// The members in the order of their names.
    var inOrder: [(name: String, place: SurveyedPlace)] {
        members.values.sorted { $0.name.utf8.lexicographicallyPrecedes($1.name.utf8) }
    }

    /// Where the entries that are there have their name; nil if nowhere.
    var namePath: [ManifestPath.Segment]? {
        var best: (rank: Int, path: [ManifestPath.Segment])?
        func offer(_ rank: Int, _ place: SurveyedPlace, _ path: [ManifestPath.Segment]) {
            guard rank > 0, rank > best?.rank ?? 0, place.texts * 2 >= count else { return }
            best = (rank, path)
        }
        // Of names of one rank the shortest: `trackName` before `trackCensoredName`.
        for (name, place) in inOrder.sorted(by: { $0.name.utf8.count < $1.name.utf8.count }) {
            let rank = IconLikeness.nameRank(of: name)
            offer(rank, place, [.member(name)])
            // `{"im:name": {"label": …}}`, or a text in some languages.
            for (inner, place) in place.inOrder {
                let isUsual = Self.usualInnerNames.contains { $0.isSame(as: inner) }
                offer(isUsual ? rank - 2 : rank - 4, place, [.member(name), .member(inner)])
            }
        }
        return best?.path
    }
}

/// A place in an unknown manifest that may be the icons', and the entry's that goes with it.
struct SurveyCandidate {
    /// From the root.
    let entries: [ManifestPath.Segment]
    /// From an entry.
    let icon: [ManifestPath.Segment]
    let name: [ManifestPath.Segment]?
    /// How much it looks like one.
    let score: Int
    /// Whether it is a place of screenshots, banners and the like, which come after all icons,
    /// however many there are.
    private let isScreenshot: Bool
    private let icons: Int

    /// So many are told apart.
    private static let most = 256

    /// What a survey has found, the likeliest first.
    static func all(in survey: ManifestSurvey) -> [SurveyCandidate] {
        var found: [SurveyCandidate] = []
        var room = 25 * ManifestSurvey.mostPlaces
        survey.root.settle()
        collect(at: [], [survey.root], &room, &found)
        found.sort { one, other in
            guard one.isScreenshot == other.isScreenshot else { return other.isScreenshot }
            return (one.score, other.path.count) > (other.score, one.path.count)
        }
        // A place of a map and the same of one of its members are one.
        return found.filter { one in
            !found.contains { other in
                one.isPart(of: other) && other.icons > one.icons
                    || other.isPart(of: one) && other.icons == one.icons
            }
        }
    }

    private var path: [ManifestPath.Segment] { entries + icon }

    /// Whether it is the same place as `other`, with the names of members in place of any.
    private func isPart(of other: SurveyCandidate) -> Bool {
        path != other.path && path.count == other.path.count
            && zip(path, other.path).allSatisfy { own, theirs in
                own == theirs || theirs == .members && own != .elements
            }
    }

    /// - Parameters:
    ///   - places: those on the way along `path`, the root and the last included.
    ///   - room: how many places may be merged yet.
    private static func collect(
        at path: [ManifestPath.Segment], _ places: [SurveyedPlace], _ room: inout Int,
        _ found: inout [SurveyCandidate]
    ) {
        guard found.count < most, let place = places.last, place.iconsBeneath > 0 else { return }
        // What is mostly text is no place of icons.
        if place.icons > place.texts { found.append(SurveyCandidate(path, places)) }
        func go(to next: SurveyedPlace?, by segment: ManifestPath.Segment) {
            guard let next else { return }
            collect(at: path + [segment], places + [next], &room, &found)
        }
        go(to: place.elements, by: .elements)
        let map = place.map(&room)
        go(to: map, by: .members)
        for (name, member) in place.inOrder { go(to: member, by: .member(name)) }
    }

    /// The entry is what is there several times and has a name, the innermost; else the outermost
    /// dictionary that is there several times; else the value itself if that is; else the
    /// dictionary around it.
    private init(_ path: [ManifestPath.Segment], _ places: [SurveyedPlace]) {
        func isRepeated(_ length: Int) -> Bool {
            guard length > 0 else { return places[0].count > 1 }
            return [.elements, .members].contains(path[length - 1])
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
        // One on its own may be anything's: the list's, its publisher's.
        score =
            leaf.likeness * min(leaf.icons, max(1, places[length].count)) / leaf.icons
            * (repeated.isEmpty ? 1 : 4)
    }
}
