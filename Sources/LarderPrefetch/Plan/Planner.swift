import LarderCache
import LarderManifest

/// A planner of prefetches that needs no network. Reads manifests at URLs from the cache.
public struct Planner: Sendable {
    let cache: Cache?
    let rules: ManifestRules
    let acceptsAnyContent: Bool
    let policy: PlanPolicy
    let headers: RequestHeaders
    let shard: Shard?

    /// Creates a planner.
    ///
    /// - Parameters:
    ///   - cache: If nil, nothing is cached.
    ///   - acceptsAnyContent: Whether objects that are not images count as cached.
    ///   - shard: The worker whose icons to plan. If nil, all icons are planned.
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

    /// Calls `body` with every entry: first those to fetch, in fetch order and grouped by resource,
    /// then the others in manifest order.
    ///
    /// - Parameter onProgress: Called a few times a second while manifests are read.
    /// - Throws: `ManifestError`, `CacheError`, or an error of `body`.
    public func plan(
        _ manifests: [ManifestSource], _ body: ((PlannedEntry) throws -> Void)? = nil,
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws -> PlanSummary {
        try Plan.translatingErrors {
            let plan = try Plan(
                of: manifests.map { $0.cached { try cache?.manifest($0)?.file } }, by: self,
                onProgress: onProgress)
            if let body {
                try plan.forEachEntryInFetchOrder { try $0.forEach(body) }
                try plan.forEachSettledEntry { try $0.forEach(body) }
            }
            try plan.releaseIndex()
            return plan.summary
        }
    }
}

struct PlanMeter {
    private static let interval: Duration = .milliseconds(200)

    private let onProgress: (PlanProgress) -> Void
    private let start = ContinuousClock.now
    private var manifestStart = ContinuousClock.now
    private var last: ContinuousClock.Instant?
    private var progress = PlanProgress()

    init(_ onProgress: @escaping (PlanProgress) -> Void) { self.onProgress = onProgress }

    /// - Parameter manifest: Nil after the last manifest.
    mutating func begin(_ manifest: String?) {
        manifestStart = .now
        (progress.manifest, progress.share) = (manifest, nil)
        show(manifestStart)
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
        progress.secondsOfManifest = (now - manifestStart) / .seconds(1)
        onProgress(progress)
    }
}

/// The progress of reading manifests.
public struct PlanProgress: Sendable, Equatable {
    /// The name of the current manifest, or nil during the comparison with the cache.
    public var manifest: String?
    /// The number of icons read. An entry without an icon counts as one.
    public var icons = 0
    /// The part of the current manifest that was read, from 0 to 1, or nil if unknown.
    public var share: Double?
    /// The seconds since the start of the first manifest.
    public var seconds: Double = 0
    var secondsOfManifest: Double = 0

    /// The number of icons read per second.
    public var iconsPerSecond: Double { seconds > 0 ? Double(icons) / seconds : 0 }

    /// The estimated seconds until the current manifest is read, or nil if unknown.
    public var secondsLeft: Double? {
        share.flatMap { $0 > 0 ? secondsOfManifest / $0 * (1 - $0) : nil }
    }
}

/// The counts of a plan.
public struct PlanSummary: Sendable, Equatable {
    /// The number of entries in all manifests. A shard counts entries whose first icon it owns.
    public var entries = 0
    /// The number of icons, of a shard only its own. An entry without an icon counts as one.
    public var icons = 0
    /// The number of distinct resources.
    public var urls = 0
    /// The number of cached and fresh resources.
    public var cached = 0
    /// The number of cached and stale resources.
    public var stale = 0
    /// The number of resources to fetch, because they are not cached as required.
    public var missing = 0
    /// The number of skipped ``icons``: entries without one, and ``leftAlone``.
    public var skipped = 0
    /// The number of failing ``icons``: invalid, ``remembered`` or ``unavailable``.
    public var failed = 0
    /// The number of resources not fetched because of a recorded permanent failure.
    public var remembered = 0
    /// The number of resources not fetched because of ``PlanPolicy/retriesOnlyFailed``.
    public var leftAlone = 0
    /// The number of resources not cached as required, if ``PlanPolicy/isOffline`` is set.
    public var unavailable = 0

    /// The number of ``icons`` with an http URL.
    public var insecure = 0
    /// The number of ``icons`` that fail because of an unsupported URL scheme.
    public private(set) var unsupported = 0
    /// ``unsupported`` by scheme, or by `others` after the first 32 schemes. Untrusted text.
    public private(set) var unsupportedSchemes: [String: Int] = [:]
    /// The number of icons that other shards own.
    public var otherShards = 0
    /// The number of values like icons that were not read. Only the first shard has it.
    public internal(set) var unread = 0
    /// The split hosts without an icon in any shard.
    public internal(set) var unusedSplits: Set<String> = []
    var cachedIcons = 0
    var cachedEntries = 0
    /// The summary of each manifest, in order.
    public var manifests: [ManifestSummary] = []

    /// Creates a summary of an empty plan.
    public init() {}

    mutating func countUnsupported(_ scheme: String) {
        unsupported += 1
        // Bounded, because each entry may have another scheme.
        let isKnown = unsupportedSchemes[scheme] != nil || unsupportedSchemes.count < 32
        unsupportedSchemes[isKnown ? scheme : "others", default: 0] += 1
    }
}

/// The work for one resource.
public enum PlanStatus: Int, Sendable {
    /// Not in the cache, or not with the required bytes. The run fetches it.
    case missing = 0
    /// In the cache and not fresh. The run revalidates it.
    case stale = 1
    /// In the cache and fresh.
    case cached = 2
    /// Not fetched because of a recent permanent failure.
    case failed = 3
    /// Not fetched, because it has not failed before (``PlanPolicy/retriesOnlyFailed``).
    case skipped = 4
    /// Not in the cache with the required bytes, nor fetched (``PlanPolicy/isOffline``).
    case unavailable = 5

    /// The word for outputs.
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
