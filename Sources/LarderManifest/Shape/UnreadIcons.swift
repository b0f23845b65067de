final class UnreadIcons {
    private static let maximumPlaces = 16
    private static let maximumNames = 1_024

    private typealias Place = (path: ManifestPath, isInEntry: Bool, count: Int)

    var count: Int { named + lists.reduce(0) { $0 + $1.count } }
    private var named = 0
    var isXML = false
    private var places: [Place] = []
    private var unnamed: [Place] = []
    /// The places with several images. A single image need not be an icon.
    private var lists: [Place] { unnamed.filter { $0.count > 1 } }
    private var isInList = false
    private var ranks: [String: Int] = [:]  // text: short names
    private var path: [ManifestPath.Segment] = []
    private var isInEntry = false
    private var known: [ManifestPath] = []
    private var least = 0

    var all: [ManifestSummary.UnreadPlace] {
        (places + lists).prefix(Self.maximumPlaces).map { path, isInEntry, count in
            if isXML {
                let path = path.written(as: isInEntry ? .element : .document)
                return .init(path: "\(path)", count: count)
            }
            let text = "\(path)"
            let link = text.utf8.first == UInt8(ascii: "[") ? "" : "."
            return .init(path: (isInEntry ? "@" : "$") + link + text, count: count)
        }
    }

    /// Counts the icons that `body` finds, except a single icon in a dictionary such as
    /// `"icon": {"url": …}`, because it belongs to the manifest itself.
    func count(_ place: [ManifestPath.Segment], _ kind: ValueKind, _ body: () throws -> Void)
        rethrows
    {
        let (before, placesBefore) = (named, places)
        try body()
        guard kind == .dictionary, named == before + 1, case .member(let name)? = place.last,
            IconLikeness.rank(of: name) == IconLikeness.rankOfIcon
        else { return }
        (named, places) = (before, placesBefore)
    }

    func look(at value: ManifestValue, _ place: [ManifestPath.Segment]) {
        (isInEntry, known, path, isInList) = (false, [], place, place.contains(.elements))
        // The minimum excludes banners and screenshots.
        least = IconLikeness.leastRankOfLists
        let rank = place.reduce(nil as Int?) { rank, segment in
            if case .member(let name) = segment { self.rank(of: name, in: rank) } else { rank }
        }
        count(value, rank)
    }

    /// Counts an entry's unread icons and, if the entry has no icon, its other images.
    func look(at entry: ManifestValue, reading icons: [ManifestPath], hasIcon: Bool) {
        (isInEntry, known, path, isInList) = (true, icons, [], false)
        least = hasIcon ? IconLikeness.leastRankOfIcons : 0
        count(entry, nil)
    }

    private func count(_ value: ManifestValue, _ rank: Int?) {
        switch value {
        case .string(let text, _):
            let isNamed = rank.map { $0 > 1 && $0 >= least } ?? (least == 0)
            guard isNamed || rank == nil && isInList,
                !known.contains(where: { $0.covers(path[...]) }),
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
                // Icon values contain a period, a slash or a colon.
                case .string(let text, _)
                where isKnown(member.key)
                    || !text.utf8.contains(where: { 0x2E...0x2F ~= $0 || $0 == 0x3A }):
                    continue
                case .string, .array, .dictionary:
                    path.append(.member(member.key))
                    count(member.value, self.rank(of: member.key, in: rank))
                    path.removeLast()
                default: continue
                }
            }
        default: return
        }
    }

    /// Whether `name` is the path of an icon, as in most manifests. Faster than ``covers(_:)``.
    private func isKnown(_ name: String) -> Bool {
        path.isEmpty
            && known.contains { $0.segments.count == 1 && $0.segments[0] == .member(name) }
    }

    private func rank(of name: String, in rank: Int?) -> Int? {
        // Long names are not cached, because hashing a String normalizes it, which takes long.
        let isShort = name.utf8.count <= 64
        let known = isShort ? ranks[name] : nil
        let own = known ?? IconLikeness.rank(of: name) ?? 0
        if known == nil, isShort, ranks.count < Self.maximumNames { ranks[name] = own }
        return IconLikeness.rank(own == 0 ? nil : own, in: rank)
    }

    private func note(in places: inout [Place]) {
        let found = places.firstIndex { $0.isInEntry == isInEntry && $0.path.segments == path }
        if let found {
            places[found].count += 1
        } else if places.count < Self.maximumPlaces {
            places.append((ManifestPath(segments: path), isInEntry, 1))
        }
    }
}

extension ManifestPath {
    func covers(_ place: ArraySlice<Segment>) -> Bool {
        func covers(_ own: ArraySlice<Segment>, _ place: ArraySlice<Segment>) -> Bool {
            own.elementsEqual(place) { own, segment in
                switch (own, segment) {
                case (.members, .member), (.elementsWhere, .elements): true
                default: own == segment
                }
            }
        }
        guard isXML || segments.contains(.descendants) else { return covers(segments[...], place) }
        let segments = segments.filter {
            if isXML, case .elementsWhere = $0 { false } else { true }
        }
        let place = isXML && place.last == .member(Self.elementText) ? place.dropLast() : place
        let parts = segments.split(separator: .descendants, omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last else { return false }
        guard parts.count > 1 else { return covers(first, place) }
        return first.count + last.count <= place.count
            && covers(first, place.prefix(first.count)) && covers(last, place.suffix(last.count))
    }
}
