import LarderCache
import LarderHTTP
import LarderManifest
import Logging

/// The settings of a ``Prefetcher``.
public struct PrefetchConfiguration: Sendable {
    /// The path of the cache directory, which is created if missing. It must be writable, unless
    /// ``PlanPolicy/isOffline`` is true and ``remote`` is nil.
    public var cache: String
    /// The rules for reading manifests. Default: detect formats from content.
    public var manifestRules = ManifestRules()
    /// The maximum number of concurrent transfers. Default: 16.
    public var maximumConcurrent = 16
    /// The maximum number of requests in flight to an origin (scheme, host and port). With several
    /// origins, each leaves at least one of ``maximumConcurrent`` slots free. Default: 6.
    public var maximumPerHost = 6
    /// The maximum number of requests per second to an origin. Default: nil, no limit.
    public var ratePerHost: Double?
    /// The rules for retries.
    public var retry = RetryPolicy()
    /// The maximum size of an icon in bytes. Default: 16 MiB.
    public var maximumObjectBytes: Int64 = 16 << 20
    /// Whether to store bodies that are not images. Default: false.
    public var acceptsAnyContent = false
    /// Whether to store `no-store` responses, which are then always stale. Default: false.
    public var storesUnstorable = false
    /// The rules that decide which resources to fetch.
    public var policy = PlanPolicy()
    /// This run's share of the resources, if several workers read the same manifests. Default: nil.
    public var shard: Shard?
    /// Whether each successful icon has an event. If false, most are only counted. Default: true.
    public var namesSuccesses = true
    var remembersFailures = true
    /// Called at the end of the run with each entry of a lock file as JSON, unless any icon failed
    /// or was left out by `policy` or `shard` (see ``Report/isLocked``). Default: nil.
    public var onLocked: (@Sendable (String) -> Void)?
    /// Additional header fields of requests. Default: none.
    public var headers: [HeaderRule] = []
    /// Whether to follow redirects from https to http. Default: false.
    public var allowsDowngrade = false
    /// The settings of connections: timeouts, certificates, proxies, addresses, User-Agent. The
    /// limits on connections follow from `maximumConcurrent` and `maximumPerHost`.
    public var transfer = TransferConfiguration()
    /// The object store that several machines share, used before the origins. Default: nil.
    public var remote: Remote?
    /// The time to wait for another process that rebuilds the cache's index. Default: none.
    public var lockWait = LockWait.none
    /// The time for transfers in flight to finish after an interruption. Default: 2 s.
    public var grace: Duration = .seconds(2)
    /// The logger for the run, and for connections unless ``transfer`` sets one. Logged URLs omit
    /// credentials and queries. Default: nil.
    public var logger: Logger?

    var loggedTransfer: TransferConfiguration {
        var transfer = transfer
        transfer.logger = transfer.logger ?? logger
        return transfer
    }

    var requestHeaders: RequestHeaders { RequestHeaders(rules: headers, for: transfer) }

    var requestPolicy: RequestPolicy {
        RequestPolicy(
            headers: requestHeaders, maximumBodyBytes: maximumObjectBytes,
            storesUnstorable: storesUnstorable, allowsDowngrade: allowsDowngrade,
            asksOrigin: policy.fetchesAll || policy.revalidation == .always,
            replacesObjects: policy.fetchesAll)
    }

    /// Creates a configuration with default values.
    public init(cache: String) { self.cache = cache }
}

extension Planner {
    package init(_ configuration: PrefetchConfiguration, cache: Cache?) {
        self.init(
            cache: cache, rules: configuration.manifestRules,
            acceptsAnyContent: configuration.acceptsAnyContent, policy: configuration.policy,
            headers: configuration.requestHeaders, shard: configuration.shard)
    }
}

extension CacheLog {
    /// Creates a log that writes to a swift-log `Logger`, or ``none`` if `logger` is nil.
    public init(_ logger: Logger?) {
        guard let logger else {
            self = .none
            return
        }
        let levels: [Logger.Level] = [.debug, .info, .notice, .warning]
        self.init { logger.log(level: levels[$0.rawValue], "\($1())") }
    }
}
