/// Limits for reading a manifest, which keep memory bounded.
public struct ManifestLimits: Equatable, Sendable {
    /// The maximum depth of arrays and dictionaries in an entry. The entry itself has depth 1. A
    /// deeper entry fails. XML deeper than libxml2's limit of 256 is refused. Default: 64.
    public var maximumDepth: Int
    /// The maximum size of an entry in bytes. In JSON, this is the text from brace to brace. In
    /// property lists, it is the size of all texts, and 8 for each value. A larger entry fails.
    /// libxml2 gets at most twice this size of a text. Default: 1 MiB.
    public var maximumEntrySize: Int
    /// The maximum number of icons of an entry. An entry with more icons fails.
    public static let maximumIcons = 1_000
    /// The maximum size of a URL or a `key` in bytes, which is more than most servers accept. An
    /// icon with a longer URL fails. A longer `key` is ignored. `data:` URLs have another limit.
    public static let maximumURLSize = 8 << 10
    /// The maximum size of a name in bytes. A longer name is truncated.
    public static let maximumNameSize = 1 << 10
    /// The maximum number of entries. Each icon of an entry counts. Default: 2,000,000.
    public var maximumEntries: Int
    /// The maximum size of a decompressed gzip file in bytes. Default: 256 MiB.
    public var maximumUnpackedSize: Int64
    /// The maximum ratio of decompressed to compressed bytes, for files of more than 16 MiB. Lists
    /// with much repetition reach 60. Default: 200.
    public var maximumUnpackingRatio: Int
    /// The decompressed size up to which the ratio does not matter.
    static let freelyUnpackedSize = 16 << 20
    /// The maximum size in bytes of a binary plist from a pipe, which is copied to a temporary
    /// file. Files have no maximum size. Default: 64 MiB.
    public var maximumPipedSize: Int

    /// Creates limits.
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
