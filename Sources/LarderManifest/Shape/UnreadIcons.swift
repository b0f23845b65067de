/// Counts the values of a manifest that look like icons and are not read, such as a second list.
/// Only counts and the first few paths are kept.
final class UnreadIcons {
    private static let mostPlaces = 16
    /// Names whose rank is kept: the entries of a list share theirs.
    private static let mostNames = 1_024

    private typealias Place = (path: ManifestPath, isOfEntry: Bool, count: Int)

    var count: Int { named + lists.reduce(0) { $0 + $1.count } }
    private var named = 0
    private var places: [Place] = []
    private var unnamed: [Place] = []
    /// One image alone may be anything.
    private var lists: [Place] { unnamed.filter { $0.count > 1 } }
    private var isInList = false
    private var ranks: [String: Int] = [:]  // text: short names
    private var path: [ManifestPath.Segment] = []
    private var isOfEntry = false
    private var known: [ManifestPath] = []
    private var least = 0

    var all: [ManifestSummary.UnreadPlace] {
        (places + lists).prefix(Self.mostPlaces).map { path, isOfEntry, count in
            let text = "\(path)"
            let link = text.utf8.first == UInt8(ascii: "[") ? "" : "."
            return .init(path: (isOfEntry ? "@" : "$") + link + text, count: count)
        }
    }

    /// Counts what `body` looks at. A single icon in a dictionary with an icon's name, such as
    /// `"icon": {"url": …}` in the root, is the manifest's own.
    func count(_ place: [ManifestPath.Segment], _ kind: ValueKind, _ body: () throws -> Void)
        rethrows
    {
        let (before, placesBefore) = (named, places)
        try body()
        if kind == .dictionary, named == before + 1, case .member(let name)? = place.last,
            IconLikeness.isIcon(name)
        {
            (named, places) = (before, placesBefore)
        }
    }

    func look(at value: ManifestValue, _ place: [ManifestPath.Segment]) {
        (isOfEntry, known) = (false, [])
        // Banners and screenshots are no icons.
        least = IconLikeness.leastRankOfLists
        let rank = place.reduce(nil as Int?) { rank, segment in
            if case .member(let name) = segment { self.rank(of: name, beneath: rank) } else { rank }
        }
        path = place
        isInList = place.contains(.elements)
        count(value, rank)
    }

    /// Counts the icons in an entry that are not read. If another one is (`hasIcon`), images of
    /// other kinds do not count.
    func look(at entry: ManifestValue, reading icons: [ManifestPath], hasIcon: Bool) {
        (isOfEntry, known) = (true, icons)
        least = hasIcon ? IconLikeness.leastRankOfIcons : 0
        path = []
        isInList = false
        count(entry, nil)
    }

    private func count(_ value: ManifestValue, _ rank: Int?) {
        switch value {
        case .string(let text):
            let isNamed = rank.map { $0 > 1 && $0 >= least } ?? (least == 0)
            guard isNamed || rank == nil && isInList, !known.contains(where: { $0.covers(path) }),
                IconLikeness.likeness(of: text, rank: rank) > 0
            else { return }
            if isNamed {
                named += 1
                note(in: &places)
            } else {
                note(in: &unnamed)
            }
        case .array(let elements):
            let wasInList = isInList
            if elements.count > 1 { isInList = true }
            path.append(.elements)
            for element in elements { count(element, rank) }
            path.removeLast()
            isInList = wasInList
        case .dictionary(let members):
            for member in members {
                switch member.value {
                // Names and numbers are most of what entries have.
                case .string(let text) where !text.utf8.contains(where: Self.isOfAddress): continue
                case .string, .array, .dictionary:
                    path.append(.member(member.key))
                    count(member.value, self.rank(of: member.key, beneath: rank))
                    path.removeLast()
                case .null, .bool, .integer, .double, .opaque: continue
                }
            }
        case .null, .bool, .integer, .double, .opaque: return
        }
    }

    /// Whether a byte is a period, a slash or a colon.
    private static func isOfAddress(_ byte: UInt8) -> Bool { byte &- 0x2E < 2 || byte == 0x3A }

    private func rank(of name: String, beneath rank: Int?) -> Int? {
        // Long names are not looked up: a dictionary normalizes them.
        let isShort = name.utf8.count <= 64
        let known = isShort ? ranks[name] : nil
        let own = known ?? IconLikeness.rank(of: name) ?? 0
        if known == nil, isShort, ranks.count < Self.mostNames { ranks[name] = own }
        return IconLikeness.rank(own == 0 ? nil : own, beneath: rank)
    }

    private func note(in places: inout [Place]) {
        let found = places.firstIndex {
            $0.isOfEntry == isOfEntry && $0.path.segments == path
        }
        if let found {
            places[found].count += 1
        } else if places.count < Self.mostPlaces {
            places.append((ManifestPath(segments: path), isOfEntry, 1))
        }
    }
}

extension ManifestPath {
    /// Whether the path leads to the place of names and elements.
    fileprivate func covers(_ place: [Segment]) -> Bool {
        segments.count == place.count
            && zip(segments, place).allSatisfy { own, segment in
                switch (own, segment) {
                case (.members, .member), (.elementsWhere, .elements): true
                default: own == segment
                }
            }
    }
}
