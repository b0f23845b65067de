import LarderCache
import LarderManifest

/// Plans without the network and without changes. Manifests at URLs are read from the cache.
public struct Planner: Sendable {
    let cache: Cache?
    let rules: ManifestRules
    let acceptsAnyContent: Bool
    let policy: PlanPolicy
    let headers: RequestHeaders
    let shard: Shard?

    /// - Parameters:
    ///   - cache: The cache. Nil reads as an empty one.
    ///   - rules: How manifests are read. Default: as their content tells.
    ///   - acceptsAnyContent: Whether objects that are no images count as cached. Default: false.
    ///   - policy: What is asked for again. Default: what is stale, and what failed permanently
    ///     more than an hour ago.
    ///   - headers: The header fields of the requests. Default: larder's own.
    ///   - shard: The worker whose icons are planned. Default: nil, all icons.
    public init(
        cache: Cache?, rules: ManifestRules = .init(), acceptsAnyContent: Bool = false,
        policy: PlanPolicy = PlanPolicy(), headers: RequestHeaders = RequestHeaders(),
        shard: Shard? = nil
    ) {
        self.cache = cache
        self.rules = rules
        self.acceptsAnyContent = acceptsAnyContent
        self.policy = policy
        self.headers = headers
        self.shard = shard
    }

    /// Calls `body` with every entry: first those to be fetched, in the order of the fetch and with
    /// the entries of one URL together; then the others, in the order of the manifests.
    ///
    /// - Parameter onProgress: Called a few times a second while manifests are read.
    /// - Throws: `ManifestError`, `CacheError`, or what `body` throws.
    public func plan(
        _ manifests: [ManifestSource], _ body: ((PlannedEntry) throws -> Void)? = nil,
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws -> PlanSummary {
        try Plan.translatingErrors {
            let plan = try Plan(
                of: manifests.map { $0.cached { try cache?.manifest($0)?.file } }, by: self,
                onProgress: onProgress)
            if let body {
                try plan.forEachEntryInTurn { try $0.forEach(body) }
                try plan.forEachSettledEntry { try $0.forEach(body) }
            }
            try plan.releaseIndex()
            return plan.summary
        }
    }
}

struct PlanMeter {
    private static let interval: Duration = .milliseconds(200)

    private let tell: (PlanProgress) -> Void
    private let start = ContinuousClock.now
    private var startOfThis = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private var progress = PlanProgress()

    init(_ tell: @escaping (PlanProgress) -> Void) { self.tell = tell }

    /// - Parameter manifest: Nil once all are read.
    mutating func begin(_ manifest: String?) {
        startOfThis = .now
        (progress.manifest, progress.share) = (manifest, nil)
        show(startOfThis)
    }

    mutating func count(_ items: Int, share: Double?) {
        progress.icons += items
        progress.share = share
        let now = ContinuousClock.now
        if last.map({ now - $0 >= Self.interval }) ?? true { show(now) }
    }

    private mutating func show(_ now: ContinuousClock.Instant) {
        last = now
        progress.seconds = (now - start) / .seconds(1)
        progress.secondsOfThis = (now - startOfThis) / .seconds(1)
        tell(progress)
    }
}

/// How far the reading of manifests is.
public struct PlanProgress: Sendable, Equatable {
    /// The name of the manifest that is being read; nil once all are compared with the cache.
    public var manifest: String?
    /// Icons of all manifests so far, an entry without one counting as one.
    public var icons = 0
    /// How much of this manifest was read, from 0 to 1; nil if unknown.
    public var share: Double?
    /// Seconds since the first manifest.
    public var seconds: Double = 0
    var secondsOfThis: Double = 0

    /// Icons read per second.
    public var iconsPerSecond: Double { seconds > 0 ? Double(icons) / seconds : 0 }

    /// The estimated time in seconds until this manifest is read; nil if unknown.
    public var secondsLeft: Double? {
        share.flatMap { $0 > 0 ? secondsOfThis / $0 * (1 - $0) : nil }
    }
}

/// What a plan counts.
public struct PlanSummary: Sendable, Equatable {
    /// Elements in all manifests. With a shard, those whose first icon is its own.
    public var entries = 0
    /// Icons of all entries; an entry without one counts as one. With a shard, its own.
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
    /// URLs that are not cached, or not as demanded: see ``PlanPolicy/isOffline``.
    public var unavailable = 0

    /// Of ``icons``, those of plain http.
    public var insecure = 0
    /// Of ``icons``, those that have failed because nobody here fetches their scheme.
    public private(set) var unsupported = 0
    /// The same for each scheme, as far as there are few; text from outside.
    public private(set) var unsupportedSchemes: [String: Int] = [:]
    /// Icons that are left to other shards; with ``icons``, all that the manifests have.
    public var otherShards = 0
    /// Values that look like icons and were not read. Of all shards, only one counts them.
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

/// What has to be done for one URL of a plan.
public enum PlanStatus: Int, Sendable {
    /// It is not in the cache, or not as the manifest demands: fetch it.
    case missing = 0
    /// It is in the cache and no longer fresh: ask its origin whether it changed.
    case stale = 1
    /// It is in the cache and fresh: nothing.
    case cached = 2
    /// A permanent failure is remembered: it is not asked for again so soon.
    case failed = 3
    /// Only what failed before is fetched, and it did not.
    case skipped = 4
    /// It is not in the cache, or not as the manifest demands, and nothing is to be asked for.
    case unavailable = 5

    /// The word that output uses.
    public var name: String {
        switch self {
        case .missing: "missing"
        case .stale: "stale"
        case .cached: "cached"
        case .failed, .unavailable: "failed"
        case .skipped: "skipped"
        }
    }
}
