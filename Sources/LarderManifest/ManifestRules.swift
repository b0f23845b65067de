import LarderCore

/// How manifests are read: what relative URLs are resolved against, and, for a manifest of no known
/// shape, the places of entries and of their parts.
public struct ManifestRules: Equatable, Sendable {
    /// What relative icon URLs are resolved against. Default: nil, the address that the manifest's
    /// shape names, else the URL that the manifest itself came from; without that they fail.
    public var baseURL: HTTPURL?
    /// Where the entries are. Default: nil, if the manifest's shape has them. A path that ends
    /// at an array stands for its elements; one that is a filter (``ManifestPath/isFilter``) finds
    /// none.
    public var entries: ManifestPath?
    /// Where an entry's name is. Default: nil, as the shape has it.
    public var nameKey: ManifestPath?
    /// Where an entry's icons are. Default: empty, as the shape has it.
    public var iconKeys: [ManifestPath] = []
    /// Where an entry's priority is. Default: nil, `priority` in the plain form, and nowhere else.
    public var priorityKey: ManifestPath?
    /// Where an entry's digest is, as in Subresource Integrity or in 64 hexadecimal digits.
    /// Default: nil, beside the icon where the shape has digests.
    public var integrityKey: ManifestPath?
    /// What `{size}`, `{width}` and `{height}` in a URL stand for, in pixels. Default: 512.
    public var iconSize = 512
    /// Where `ipfs:` URLs are fetched from, such as `https://ipfs.io`. Default: nil, they fail.
    public var ipfsGateway: HTTPURL?
    /// Which icons are wanted if an entry has several. Default: all.
    public var icons = IconSelection.all

    /// What it may cost to read a manifest. Default: the limits' own defaults.
    public var limits = ManifestLimits()

    /// The defaults.
    ///
    /// - Parameter baseURL: what relative icon URLs are resolved against.
    public init(baseURL: HTTPURL? = nil) { self.baseURL = baseURL }

    /// The places of what is beside an icon.
    var namedParts: [(part: ManifestSummary.NamedPart, path: ManifestPath)] {
        let parts: [(ManifestSummary.NamedPart, ManifestPath?)] =
            [(.name, nameKey), (.priority, priorityKey), (.integrity, integrityKey)]
        return parts.compactMap { part, path in path.map { (part, $0) } }
    }

    /// The shapes that a manifest may have by these rules, in the order in which they are tried.
    var shapes: [ManifestShape] {
        // If the place tells nothing, several shapes may have the icon; the plain one says most.
        let known = entries == nil ? ManifestShape.table : [.plain] + ManifestShape.table
        return known.enumerated().compactMap { number, known in
            var shape = known
            if let entries {
                // Found elsewhere, an entry has nothing from its surroundings, and is told by its
                // icon alone.
                guard shape.base == nil, number == 0 || shape.name != ManifestShape.plain.name
                else { return nil }
                shape.marks = shape.icons.map(\.path)
                let elements = ManifestPath(segments: entries.segments + [.elements])
                let isWhole = [.elements, .members].contains(entries.segments.last)
                shape.entries = isWhole ? [entries] : [elements, entries]
            }
            if !iconKeys.isEmpty {
                // One that the shape has, too, is made a URL as there.
                shape.icons = iconKeys.map { path in
                    known.icons.first { $0.path == path } ?? .init(path: path)
                }
                shape.marks = iconKeys
                // What is beside an icon that was named by hand may be about anything.
                shape.hasDigests = false
                shape.priority = nil
                shape.key = nil
                shape.names += ManifestShape.usualNames.filter { !shape.names.contains($0) }
            }
            if let nameKey { shape.names = [nameKey] }
            if let priorityKey { shape.priority = priorityKey }
            if let integrityKey { shape.integrity = integrityKey }
            return shape
        }
    }
}

/// What a manifest may cost to read, so that memory stays bounded whatever it holds.
public struct ManifestLimits: Equatable, Sendable {
    /// How deep arrays and dictionaries may nest within an entry, the entry itself being 1.
    /// Default: 64. A deeper entry fails. XML beyond libxml2's own limit of 256 is refused.
    public var maximumDepth: Int
    /// How many bytes one entry may take: in JSON from brace to brace, in property lists its texts
    /// and 8 for each value. Default: 1 MiB. A larger entry fails. libxml2 gets no more than twice
    /// as much of a text.
    public var maximumEntrySize: Int
    /// How many icons one entry may have: each names the entry once more. Default: 1,000. One with
    /// more fails.
    public static let maximumIcons = 1_000
    /// How many bytes an icon's URL, or a `key`, may have: more than most servers take. Default: 8
    /// KiB. An icon whose URL is longer fails, and a longer `key` is ignored. `data:` URLs have a
    /// limit of their own.
    public static let maximumURLSize = 8 << 10
    /// How many bytes of an entry's name are kept. Default: 1 KiB.
    public static let maximumNameSize = 1 << 10
    /// How many entries a manifest may have; one with several icons counts once for each. Default:
    /// 2,000,000.
    public var maximumEntries: Int
    /// How many bytes a gzip file may unpack to. Default: 256 MiB.
    public var maximumUnpackedSize: Int64
    /// How many times its own length a gzip file may unpack to, beyond the first 16 MiB. Default:
    /// 200; lists that repeat themselves come to 60.
    public var maximumUnpackingRatio: Int
    /// How much a gzip file may unpack to whatever its length, in bytes.
    static let freelyUnpackedSize = 16 << 20
    /// How many bytes a binary plist may have that comes from a pipe, and is put into a temporary
    /// file. Default: 64 MiB. A file's size is not limited.
    public var maximumPipedSize: Int

    /// Takes the limits; each has its default.
    public init(
        maximumDepth: Int = 64, maximumEntrySize: Int = 1 << 20,
        maximumEntries: Int = 2_000_000, maximumUnpackedSize: Int64 = 256 << 20,
        maximumUnpackingRatio: Int = 200, maximumPipedSize: Int = 64 << 20
    ) {
        self.maximumEntries = maximumEntries
        self.maximumUnpackedSize = maximumUnpackedSize
        self.maximumUnpackingRatio = maximumUnpackingRatio
        self.maximumDepth = maximumDepth
        self.maximumEntrySize = maximumEntrySize
        self.maximumPipedSize = maximumPipedSize
    }

    /// Adds bytes to what an entry takes.
    func charge(_ bytes: Int, to size: inout Int) throws(EntryError) {
        size += bytes
        guard size <= maximumEntrySize else { throw .tooLarge(self) }
    }

    /// Checks that an array or a dictionary of an entry may be this deep.
    func enter(_ depth: Int) throws(EntryError) {
        guard depth <= maximumDepth else { throw .tooDeep(self) }
    }
}

/// Which icons of an entry are wanted if it has several.
public enum IconSelection: String, Sendable, CaseIterable {
    /// Every one: an app that is offline may ask for any of them.
    case all
    /// The largest; the first of several, and one of unknown size only if no size is known.
    case largest
    /// The smallest; one of unknown size counts as smallest, the first of several.
    case smallest
    /// The first, in the order of the shape's paths and then of the manifest.
    case first
}

/// How large an icon is, from what a manifest says beside its URL.
enum IconSize {
    /// The width in pixels; 0 if nothing is known.
    ///
    /// In this order: `sizes` as in a web app manifest (`any` is larger than all), `width`,
    /// `attributes.height` as in Apple's feeds, and the digits of the member's name, as in
    /// `artworkUrl512`.
    static func pixels(of match: PathMatch) -> Int {
        if case .string(let sizes) = match.container["sizes"] { return largest(of: sizes) }
        if let width = number(match.container["width"]) { return width }
        if case .dictionary(let attributes) = match.container["attributes"],
            let height = number(attributes["height"])
        {
            return height
        }
        return firstNumber(in: match.key.utf8)
    }

    private static func largest(of sizes: String) -> Int {
        sizes.utf8.split(whereSeparator: \.isSpace).reduce(0) { largest, size in
            size.isWord("any") ? .max : max(largest, firstNumber(in: size))
        }
    }

    private static func number(_ value: ManifestValue?) -> Int? {
        switch value {
        case .integer(let number) where number > 0: number
        case .double(let number): Int(exactly: number.rounded(.down))
        case .string(let text): Int(text)
        default: nil
        }
    }

    private static func firstNumber(in text: some Collection<UInt8>) -> Int {
        let digits = text.drop { !$0.isDigit }.prefix(while: \.isDigit)
        return Int(String(decoding: digits.prefix(9), as: UTF8.self)) ?? 0
    }
}
