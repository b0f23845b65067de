import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import Logging

/// The settings of a ``Prefetcher``.
public struct PrefetchConfiguration: Sendable {
    /// The path of the cache directory, which is created if it is missing.
    public var cache: String
    /// The rules for reading manifests. Default: detect formats from content.
    public var manifestRules = ManifestRules()
    /// The maximum number of concurrent transfers. Default: 16.
    public var maximumConcurrent = 16
    /// The maximum number of requests in flight to a scheme, host and port. If manifests name
    /// several, each leaves at least one of the ``maximumConcurrent`` slots free. Default: 6.
    public var maximumPerHost = 6
    /// The maximum number of requests a second to a scheme, host and port. Default: nil, no limit.
    public var ratePerHost: Double?
    /// The rules for retries.
    public var retry = RetryPolicy()
    /// The maximum size of an icon in bytes. Default: 16 MiB.
    public var maximumObjectBytes: Int64 = 16 << 20
    /// Whether to store bodies that are not images. Default: false.
    public var acceptsAnyContent = false
    /// Whether to store `no-store` responses, as always stale, or only check them. Default: false.
    public var storesUnstorable = false
    /// The rules that decide which resources to fetch.
    public var policy = PlanPolicy()
    /// The share of this run, if several workers read the same manifests. Default: nil.
    public var shard: Shard?
    /// Whether each successful icon has an event. If false, most are only counted. Default: true.
    public var namesSuccesses = true
    var remembersFailures = true
    /// Called at the end for each icon, in the order of the manifests, if none failed and neither
    /// `policy` nor `shard` left any out (see ``Report/isLocked``). Default: nil.
    public var onLocked: (@Sendable (LockedEntry) -> Void)?
    /// Additional header fields of requests. Default: none.
    public var headers: [HeaderRule] = []
    /// Whether to follow redirects from https to http. Default: false.
    public var allowsDowngrade = false
    /// The settings of connections: timeouts, certificates, proxies, addresses, User-Agent.
    public var transfer = TransferConfiguration()
    /// An object store that shares icons, which is asked before the origins. Default: nil.
    public var remote: Remote?
    /// How long to wait while another process rebuilds the cache's index. Default: no wait.
    public var lockWait = LockWait.none
    /// The time that transfers in flight have to finish when a run is interrupted. Default: 2 s.
    public var grace: Duration = .seconds(2)
    /// The logger of the run, and of connections unless ``transfer`` has its own. Logged URLs have
    /// no credentials and queries. Default: nil.
    public var logger: Logger?

    var loggedTransfer: TransferConfiguration {
        var transfer = transfer
        transfer.logger = transfer.logger ?? logger
        return transfer
    }

    /// The header fields of requests for icons.
    public var requestHeaders: RequestHeaders {
        RequestHeaders(
            rules: headers, userAgent: transfer.userAgent, usesNetrc: transfer.netrcFile != nil)
    }

    var requestPolicy: RequestPolicy {
        RequestPolicy(
            headers: requestHeaders, maximumBodyBytes: maximumObjectBytes,
            storesUnstorable: storesUnstorable, asksOrigin: policy.revalidation == .always)
    }

    func remoteManifest(_ url: HTTPURL) -> RemoteManifest {
        var manifest = RemoteManifest(url, transfer: loggedTransfer)
        manifest.retry = retry
        manifest.headers = headers
        manifest.allowsDowngrade = allowsDowngrade
        manifest.maximumBytes = manifestRules.limits.maximumUnpackedSize
        return manifest
    }

    /// Creates a configuration with the default values.
    public init(cache: String) { self.cache = cache }
}

extension CacheLog {
    /// Creates a log that writes to a logger of swift-log, or ``none`` if `logger` is nil.
    public init(_ logger: Logger?) {
        guard let logger else {
            self = .none
            return
        }
        self.init { level, message in
            let level: Logger.Level =
                switch level {
                case .debug: .debug
                case .info: .info
                case .notice: .notice
                case .warning: .warning
                }
            logger.log(level: level, "\(message())")
        }
    }
}
