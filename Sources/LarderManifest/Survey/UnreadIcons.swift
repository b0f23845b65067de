import LarderImages

/// Counts the values of a manifest that look like icons and are not read, such as a second list.
/// Only counts and the first few paths are kept.
final class UnreadIcons {
    /// The number of paths that are kept.
    private static let mostPlaces = 16
    /// The number of names whose rank is kept, because the entries of a list share theirs.
    private static let mostNames = 1_024

    private typealias Place = (path: ManifestPath, isOfEntry: Bool, count: Int)

    /// The number of these values.
    var count: Int { named + lists.reduce(0) { $0 + $1.count } }
    /// The number of those whose names say that they are icons.
    private var named = 0
    private var places: [Place] = []
    /// Values in lists that no name tells of, by their places.
    private var unnamed: [Place] = []
    /// One image alone may be anything.
    private var lists: [Place] { unnamed.filter { $0.count > 1 } }
    private var isInList = false
    private var ranks: [String: Int] = [:]  // text: short names
    private var path: [ManifestPath.Segment] = []
    private var isOfEntry = false
    private var known: [ManifestPath] = []
    private var least = 0

    /// The paths of the first of them, from the root (`$`) or from an entry (`@`).
    var all: [ManifestSummary.UnreadPlace] {
        (places + lists).prefix(Self.mostPlaces).map { path, isOfEntry, count in
            let text = "\(path)"
            let link = text.utf8.first == UInt8(ascii: "[") ? "" : "."
            return .init(path: (isOfEntry ? "@" : "$") + link + text, count: count)
        }
    }

    /// Counts what `body` looks at. A single icon in a dictionary that is named so itself, such as
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

    /// Counts the icons in a value that no shape reads.
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

    /// Counts the icons in an entry that its shape does not read.
    ///
    /// - Parameter hasIcon: whether another icon of the entry is read. An entry usually has images
    ///   of other kinds as well; without an icon, any image may be meant.
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
            guard isNamed || rank == nil && isInList,
                !known.contains(where: { $0.covers(path) }),
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
                case .string(let text) where !text.utf8.contains(where: "./:".utf8.contains):
                    continue
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

/// How much a value of an unknown manifest looks like an icon, from its name and its text.
enum IconLikeness {
    /// What a member's name says of its value: high for `icon_url`, low for `screenshots`; nil if
    /// nothing.
    static func rank(of name: String) -> Int? {
        // No name that means something is longer.
        let name = name.utf8.prefix(64).lowercasedASCII
        return ranks.first { _, words in words.contains { name.place(ofWord: $0) != nil } }?.rank
    }

    /// The rank of a value whose name has the rank `own`, within one of the rank `outer`. What is
    /// in a list of screenshots is none but an icon that is named so.
    static func rank(_ own: Int?, beneath outer: Int?) -> Int? {
        outer == 1 && own != rankOfIcon ? 1 : own ?? outer
    }

    /// Whether a member is named icon or logo.
    static func isIcon(_ name: String) -> Bool { rank(of: name) == rankOfIcon }

    /// The rank of what is named icon or logo.
    private static let rankOfIcon = 16
    /// The least rank of a value that is one more icon of an entry.
    static let leastRankOfIcons = 12
    /// The least rank of a value that is the icon of an entry.
    static let leastRankOfLists = 8

    /// The first that fits counts: a screenshot is an image, too.
    private static let ranks: [(rank: Int, words: [[UInt8]])] = [
        (
            1,
            [
                "screenshot", "banner", "background", "header", "hero", "preview", "splash",
                "feature", "promo", "wallpaper", "gallery", "news",
            ]
        ),
        (rankOfIcon, ["icon", "logo"]),
        (12, ["artwork", "avatar", "thumb"]),
        (8, ["image", "img", "picture", "cover", "poster", "photo"]),
    ].map { rank, words in (rank, words.map { Array($0.utf8) }) }

    /// How much a text with a name of that rank looks like an icon; 0 if it does not.
    static func likeness(of text: String, rank: Int?) -> Int {
        let text = text.utf8
        if text.prefix(11).isWord("data:image/") { return rank ?? 4 }
        guard text.count <= ManifestLimits.maximumURLSize, !text.isEmpty else { return 0 }
        let path = text.prefix { !"?#".utf8.contains($0) }
        let isImage = hasImageExtension(path)
        if text.prefix(7).isWord("http://") || text.prefix(8).isWord("https://") {
            return rank ?? (isImage ? 4 : 0)
        }
        if text.prefix(5).isWord("ipfs:") { return rank ?? 0 }
        // A relative URL, if a base is known: a file's name, or a path.
        guard !text.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: ":") }) else { return 0 }
        if isImage { return max(1, (rank ?? 4) / 2) }
        let isPath = text.starts(with: "/".utf8) || text.starts(with: "./".utf8)
        return isPath && rank ?? 0 >= 8 ? 2 : 0
    }

    private static func hasImageExtension(_ path: some BidirectionalCollection<UInt8>) -> Bool {
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let name = path[path.index(after: dot)...].prefix(6).lowercasedASCII
        return extensions.contains(name)
    }

    private static let extensions = Set(
        (ImageFormat.all.flatMap(\.suffixes) + ["icns"]).map { Array($0.utf8) })

    /// How much a member's name says that its text is the name of its entry; 0 if it does not.
    static func nameRank(of name: String) -> Int {
        let name = name.utf8.prefix(64).lowercasedASCII
        guard let word = nameWords.first(where: { name.suffix($0.count).elementsEqual($0) }) else {
            return 0
        }
        if name.count == word.count { return 8 }
        if name.place(ofWord: Array("package".utf8)) != nil { return 2 }
        return others.contains { name.place(ofWord: $0) != nil } ? 1 : 6
    }

    private static let nameWords = ["name", "title", "label"].map { Array($0.utf8) }

    /// Whose names are not the entry's.
    private static let others = [
        "file", "user", "host", "class", "bundle", "domain", "developer", "author",
        "artist", "seller", "company", "genre", "category", "collection",
    ].map { Array($0.utf8) }
}

extension [UInt8] {
    /// Where a few bytes begin in it; nil if they are not there.
    fileprivate func place(ofWord word: [UInt8]) -> Int? {
        guard word.count <= count else { return nil }
        return (0...(count - word.count)).first { self[$0...].starts(with: word) }
    }
}
