/// What a plan counts.
public struct PlanSummary: Sendable, Equatable {
    /// Elements in all manifests. With a shard, those whose first icon is its own, so that the
    /// counts of all shards add up to those of one run.
    public var entries = 0
    /// Icons of all entries; an entry without one counts as one, so that there are as many as
    /// entries if none has several. With a shard, its own.
    public var icons = 0
    /// Distinct URLs among the entries that have one.
    public var urls = 0
    /// URLs that are cached and fresh.
    public var cached = 0
    /// URLs that are cached and stale.
    public var stale = 0
    /// URLs that are to be fetched.
    public var missing = 0
    /// Of ``icons``, those that are not there, or that are left alone.
    public var skipped = 0
    /// Of ``icons``, those that cannot be used, or whose failure is remembered.
    public var failed = 0
    /// URLs whose permanent failure is remembered: they are not asked for.
    public var remembered = 0
    /// URLs that are left alone because only what failed before is fetched.
    public var leftAlone = 0
    /// URLs that are not cached, or not as demanded, and not to be asked for: see
    /// ``PlanPolicy/isOffline``.
    public var unavailable = 0

    /// Of ``icons``, those of plain http.
    public var insecure = 0
    /// Of ``icons``, those that have failed because nobody here fetches their scheme.
    public private(set) var unsupported = 0
    /// The same for each scheme, as far as there are few; text from outside.
    public private(set) var unsupportedSchemes: [String: Int] = [:]
    /// Icons that are left to other shards; with ``icons``, all that the manifests have.
    public var otherShards = 0
    /// Values that look like icons and were not read. With a shard, only the shard that reports
    /// entries without an icon counts them. Default: 0.
    public internal(set) var unread = 0
    /// Split hosts that no icon of any shard is on: misspelled, or only redirects lead there.
    public internal(set) var unusedSplits: Set<String> = []
    /// Icons that are cached and fresh, and entries whose first icon is.
    var cachedIcons = 0
    var cachedEntries = 0
    /// How each manifest was read, in their order.
    public var manifests: [ManifestSummary] = []

    /// Nothing planned.
    public init() {}

    mutating func countUnsupported(_ scheme: String) {
        unsupported += 1
        // A list of nothing but different schemes is not to fill the memory.
        let isKnown = unsupportedSchemes[scheme] != nil || unsupportedSchemes.count < 32
        unsupportedSchemes[isKnown ? scheme : "others", default: 0] += 1
    }
}
