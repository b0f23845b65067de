/// What a manifest may cost to read, so that memory stays bounded whatever it holds.
public struct ManifestLimits: Equatable, Sendable {
    /// The maximum depth of arrays and dictionaries in an entry, the entry itself being 1. A deeper
    /// entry fails; XML beyond libxml2's limit of 256 is refused. Default: 64.
    public var maximumDepth: Int
    /// The maximum number of bytes of an entry: in JSON from brace to brace, in property lists its
    /// texts and 8 for each value. A larger entry fails; libxml2 gets at most twice as much of a
    /// text. Default: 1 MiB.
    public var maximumEntrySize: Int
    /// The maximum number of icons of an entry. One with more fails.
    public static let maximumIcons = 1_000
    /// The maximum number of bytes of a URL or a `key`: more than most servers take. An icon with a
    /// longer URL fails, and a longer `key` is ignored. `data:` URLs have a limit of their own.
    public static let maximumURLSize = 8 << 10
    /// The maximum number of bytes of a name that are kept.
    public static let maximumNameSize = 1 << 10
    /// The maximum number of entries, counted once for each icon. Default: 2,000,000.
    public var maximumEntries: Int
    /// The maximum number of bytes that a gzip file unpacks to. Default: 256 MiB.
    public var maximumUnpackedSize: Int64
    /// The maximum ratio of unpacked to packed bytes, beyond the first 16 MiB; lists that repeat
    /// themselves come to 60. Default: 200.
    public var maximumUnpackingRatio: Int
    /// The number of bytes that a file of any length may unpack to.
    static let freelyUnpackedSize = 16 << 20
    /// The maximum number of bytes of a binary plist from a pipe, which is put into a temporary
    /// file. A file's size is not limited. Default: 64 MiB.
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
