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

    func charge(_ bytes: Int, to size: inout Int) throws(EntryError) {
        size += bytes
        guard size <= maximumEntrySize else { throw .tooLarge(self) }
    }

    func enter(_ depth: Int) throws(EntryError) {
        guard depth <= maximumDepth else { throw .tooDeep(self) }
    }
}
