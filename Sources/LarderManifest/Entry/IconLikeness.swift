import LarderCore
import LarderImages

enum IconLikeness {
    /// Returns the rank of a member's name, which is high for `icon_url` and 1 for `screenshots`.
    static func rank(of name: String) -> Int? {
        let name = name.utf8.prefix(64).lowercasedASCII
        return ranks.first { _, words in words.contains { name.holds($0) } }?.rank
    }

    /// Returns the rank of a member inside another one. In screenshots, only icons keep their rank.
    static func rank(_ own: Int?, in outer: Int?) -> Int? {
        outer == 1 && own != rankOfIcon ? 1 : own ?? outer
    }

    static let rankOfIcon = 16
    /// The minimum rank of unread icons in an entry that has an icon.
    static let leastRankOfIcons = 12
    /// The minimum rank of a value that counts as an unread icon outside entries.
    static let leastRankOfLists = 8

    private static let screenshots: [StaticString] = [
        "screenshot", "banner", "background", "header", "hero", "preview", "splash",
        "feature", "promo", "wallpaper", "gallery", "news",
    ]

    /// The first match counts, because a screenshot's name may also contain `image`.
    private static let ranks: [(rank: Int, words: [StaticString])] = [
        (1, screenshots), (rankOfIcon, ["icon", "logo"]), (12, ["artwork", "avatar", "thumb"]),
        (8, ["image", "img", "picture", "cover", "poster", "photo"]),
    ]

    static func likeness(of text: String, rank: Int?) -> Int {
        let text = text.utf8
        if text.prefix(11).isWord("data:image/") { return rank ?? 4 }
        guard text.count <= ManifestLimits.maximumURLSize, !text.isEmpty else { return 0 }
        let path = text.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        let isImage = hasImageExtension(path)
        if text.prefix(7).isWord("http://") || text.prefix(8).isWord("https://") {
            return rank ?? (isImage ? 4 : 0)
        }
        if text.prefix(5).isWord("ipfs:") { return rank ?? 0 }
        guard !text.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: ":") }) else { return 0 }
        if isImage { return max(1, (rank ?? 4) / 2) }
        let isPath = text.starts(with: "/".utf8) || text.starts(with: "./".utf8)
        return isPath && rank ?? 0 >= 8 ? 2 : 0
    }

    static func hasImageExtension(_ path: some BidirectionalCollection<UInt8>) -> Bool {
        guard let dot = path.lastIndex(of: UInt8(ascii: ".")) else { return false }
        let name = path[path.index(after: dot)...].prefix(6).lowercasedASCII
        return extensions.contains(name)
    }

    private static let extensions = Set(
        (ImageFormat.all.flatMap(\.suffixes) + ["icns"]).map { Array($0.utf8) })

    static func nameRank(of name: String) -> Int {
        let name = name.utf8.prefix(64).lowercasedASCII
        guard let word = nameWords.first(where: { name.suffix($0.count).elementsEqual($0) })
        else { return 0 }
        if name.count == word.count { return 8 }
        if name.holds("package") { return 2 }
        return others.contains { name.holds($0) } ? 1 : 6
    }

    private static let nameWords = ["name", "title", "label"].map { Array($0.utf8) }

    private static let others: [StaticString] = [
        "file", "user", "host", "class", "bundle", "domain", "developer", "author",
        "artist", "seller", "company", "genre", "category", "collection",
    ]
}
