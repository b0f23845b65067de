import LarderCache

/// Plans without the network and without changing anything: manifests at URLs are read as the cache
/// has them.
public struct Planner: Sendable {
    private let cache: Cache?
    private let rules: ManifestRules
    private let acceptsAnyContent: Bool
    private let policy: PlanPolicy
    private let headers: RequestHeaders
    private let shard: Shard?

    /// - Parameters:
    ///   - cache: what is there already; nil reads as an empty cache.
    ///   - rules: how manifests are read. Default: as their content tells.
    ///   - acceptsAnyContent: whether objects that are no images count as cached. Default: false.
    ///   - policy: what is asked for of what is cached or has failed before. Default: what is
    ///     stale, and what failed permanently more than an hour ago.
    ///   - headers: what the requests would carry. Default: what they carry by default.
    ///   - shard: whose icons are planned. Default: nil, all.
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

    /// Hands over every entry: first those to be fetched, in the order of the fetch and with the
    /// entries of one URL together; then the others, in the order of the manifests.
    ///
    /// - Parameters:
    ///   - manifests: in their order.
    ///   - body: nil if the summary is all that is wanted.
    ///   - onProgress: called a few times a second while manifests are read. Default: nobody looks.
    /// - Throws: `ManifestError`, `CacheError`, or what `body` throws.
    public func plan(
        _ manifests: [ManifestSource], _ body: ((PlannedEntry) throws -> Void)? = nil,
        onProgress: @escaping (PlanProgress) -> Void = { _ in }
    ) throws -> PlanSummary {
        try Plan.translatingErrors {
            let plan = try Plan(
                of: manifests.map { $0.cached(in: cache) }, rules: rules, cache: cache,
                acceptsAnyContent: acceptsAnyContent, policy: policy, headers: headers,
                shard: shard, at: nil, onProgress: onProgress)
            if let body {
                try plan.forEachEntryInTurn { try $0.forEach(body) }
                try plan.forEachSettledEntry { try $0.forEach(body) }
            }
            try plan.releaseIndex()
            return plan.summary
        }
    }
}
