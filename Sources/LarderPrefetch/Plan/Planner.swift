import LarderCache
import LarderManifest

/// A planner of prefetches. It uses no network: manifests at URLs are read from the cache.
package struct Planner: Sendable {
    /// If nil, all resources count as missing.
    let cache: Cache?
    var rules = ManifestRules()
    var acceptsAnyContent = false
    var policy = PlanPolicy()
    var headers = RequestHeaders()
    var shard: Shard?

    /// Calls `body` with every entry. Entries to fetch come first, in fetch order and grouped by
    /// resource. Other entries follow in manifest order.
    package func plan(
        _ manifests: [ManifestSource], keepsValues: Bool = false,
        _ body: ((PlannedEntry) throws -> Void)? = nil,
        conclude: (Plan) throws -> Void = { _ in },
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws -> PlanSummary {
        try CacheError.naming("the plan") {
            let plan = try plan(of: manifests, keepsValues: keepsValues, onProgress: onProgress)
            if let body {
                try plan.forEachEntryInFetchOrder { try $0.forEach(body) }
                try plan.forEachSettledEntry { try $0.forEach(body) }
            }
            try plan.releaseIndex()
            try conclude(plan)
            return plan.summary
        }
    }

    func plan(
        of manifests: [ManifestSource], keepsValues: Bool = false,
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws -> Plan {
        try Plan(
            of: manifests.map { $0.cached { try cache?.manifest($0)?.file } }, by: self,
            keepsValues: keepsValues, onProgress: onProgress)
    }
}

/// The progress of reading manifests.
public struct PlanProgress: Sendable, Equatable {
    /// The name of the current manifest, or nil during the comparison with the cache.
    public var manifest: String?
    /// The number of icons read. An entry without an icon counts as one.
    public var icons = 0
    /// The fraction of the current manifest that was read, from 0 to 1, or nil if unknown.
    public var share: Double?
    /// The seconds since the start of the first manifest.
    public var seconds: Double = 0
    var secondsOfManifest: Double = 0

    /// The number of icons read per second.
    public var iconsPerSecond: Double { seconds > 0 ? Double(icons) / seconds : 0 }

    /// The estimated seconds left for the current manifest, or nil if unknown.
    public var secondsLeft: Double? {
        share.flatMap { $0 > 0 ? secondsOfManifest / $0 * (1 - $0) : nil }
    }
}

/// The counts of a plan.
public struct PlanSummary: Sendable, Equatable {
    /// The number of entries. A shard counts only entries whose first icon it owns.
    public var entries = 0
    /// The number of icons. A shard counts only its own. An entry without an icon counts as one.
    public var icons = 0
    /// The number of distinct resources.
    public var urls = 0
    /// The number of fresh cached resources.
    public var cached = 0
    /// The number of stale cached resources.
    public var stale = 0
    /// The number of resources to fetch (``PlanStatus/missing``).
    public var missing = 0
    /// The number of skipped ``icons``: ``unfetched``, ``leftAlone``, or entries without an icon.
    public var skipped = 0
    /// The number of ``icons`` of a kind that is never fetched, by `IconValue.Kind`.
    public internal(set) var unfetched: [String: Int] = [:]
    /// The number of failing ``icons``: invalid, contradictory, ``remembered`` or ``unavailable``.
    public var failed = 0
    /// The number of resources not fetched because of a recorded permanent failure.
    public var remembered = 0
    /// The number of resources not fetched because of ``PlanPolicy/retriesOnlyFailed``.
    public var leftAlone = 0
    /// The number of missing resources not fetched because of ``PlanPolicy/isOffline``.
    public var unavailable = 0

    /// The number of ``icons`` with an http URL.
    public var insecure = 0
    /// The number of ``unfetched`` icons with an unsupported URL scheme.
    public var unsupported: Int { unfetched["other-scheme", default: 0] }
    /// The number of icons of other shards.
    public var otherShards = 0
    /// The number of unread values that look like icons. Only the first shard counts them.
    public internal(set) var unread = 0
    /// The split hosts that have no icon in any shard.
    public internal(set) var unusedSplits: Set<String> = []
    var cachedIcons = 0
    var cachedEntries = 0
    /// The summary of each manifest, in order.
    public var manifests: [ManifestSummary] = []
}

/// The status of a resource in a plan.
public enum PlanStatus: String, Sendable {
    /// The run fetches the resource.
    case missing
    /// The run revalidates the resource, which is cached but not fresh.
    case stale
    /// The resource is cached and fresh.
    case cached
    /// The resource is not fetched, because of a recent permanent failure or contradictory entries.
    case failed
    /// The resource is not fetched, because it has not failed before
    /// (``PlanPolicy/retriesOnlyFailed``).
    case skipped
    /// The resource is missing and not fetched, because of ``PlanPolicy/isOffline``.
    case unavailable
}
