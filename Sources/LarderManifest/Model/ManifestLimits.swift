/// Memory limits for reading a manifest.
public struct ManifestLimits: Equatable, Sendable {
    /// The maximum depth of arrays and dictionaries in an entry, which itself has depth 1. Deeper
    /// entries fail. Outside entries, the limit is the same in YAML and 256 in XML. Default: 64.
    public var maximumDepth: Int
    /// The maximum size of an entry in bytes: in JSON, its length from brace to brace, and in other
    /// formats, the size of strings plus 8 bytes per value. Larger entries fail. Default: 1 MiB.
    public var maximumEntrySize: Int
    /// The maximum number of icons in an entry. Entries with more icons fail.
    public static let maximumIcons = 1_000
    /// The maximum size in bytes of a URL or a `key`. Longer URLs fail, and longer keys are
    /// ignored. `data:` URLs have a separate limit.
    public static let maximumURLSize = 8 << 10
    /// The maximum size of a name in bytes. Longer names are truncated.
    public static let maximumNameSize = 1 << 10
    /// The maximum number of entries. An entry counts once for each icon. Default: 2,000,000.
    public var maximumEntries = 2_000_000
    /// The maximum size of a decompressed gzip file in bytes. Default: 256 MiB.
    public var maximumUnpackedSize: Int64 = 256 << 20
    /// The maximum ratio of decompressed to compressed bytes, enforced above 16 MiB. Repetitive
    /// lists reach 60. Default: 200.
    public var maximumUnpackingRatio = 200
    static let freelyUnpackedSize = 16 << 20
    /// The maximum size in bytes of a binary plist from a pipe. Default: 64 MiB.
    public var maximumPipedSize: Int

    /// Creates limits, with defaults for omitted ones.
    public init(
        maximumDepth: Int = 64, maximumEntrySize: Int = 1 << 20, maximumPipedSize: Int = 64 << 20
    ) {
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
