import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import Logging

/// The settings of a ``Prefetcher``.
public struct PrefetchConfiguration: Sendable {
    /// The path of the cache directory, which is created if missing.
    public var cache: String
    /// The rules for reading manifests. Default: detect formats from content.
    public var manifestRules = ManifestRules()
    /// The maximum number of concurrent transfers. Default: 16.
    public var maximumConcurrent = 16
    /// The maximum number of requests in flight to a scheme, host and port. If there are several,
    /// each leaves at least one ``maximumConcurrent`` slot free. Default: 6.
    public var maximumPerHost = 6
    /// The maximum number of requests a second to a scheme, host and port. Default: nil, no limit.
    public var ratePerHost: Double?
    /// The rules for retries.
    public var retry = RetryPolicy()
    /// The maximum size of an icon in bytes. Default: 16 MiB.
    public var maximumObjectBytes: Int64 = 16 << 20
    /// Whether to store bodies that are not images. Default: false.
    public var acceptsAnyContent = false
    /// Whether to store `no-store` responses, as always stale. Default: false, only check them.
    public var storesUnstorable = false
    /// The rules for which resources to fetch.
    public var policy = PlanPolicy()
    /// This run's share, if several workers read the same manifests. Default: nil.
    public var shard: Shard?
    /// Whether each successful icon has an event. If false, most are only counted. Default: true.
    public var namesSuccesses = true
    var remembersFailures = true
    /// Called at the end for each icon, in manifest order, if none failed or was left out by
    /// `policy` or `shard` (see ``Report/isLocked``). Default: nil.
    public var onLocked: (@Sendable (LockedEntry) -> Void)?
    /// Additional header fields of requests. Default: none.
    public var headers: [HeaderRule] = []
    /// Whether to follow redirects from https to http. Default: false.
    public var allowsDowngrade = false
    /// The settings of connections: timeouts, certificates, proxies, addresses, User-Agent.
    public var transfer = TransferConfiguration()
    /// An object store that shares icons, asked before the origins. Default: nil.
    public var remote: Remote?
    /// The wait while another process rebuilds the cache's index. Default: none.
    public var lockWait = LockWait.none
    /// The time for transfers in flight to finish when a run is interrupted. Default: 2 s.
    public var grace: Duration = .seconds(2)
    /// The logger of the run, and of connections unless ``transfer`` has its own. Logged URLs have
    /// no credentials or queries. Default: nil.
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

    /// Creates a configuration with default values.
    public init(cache: String) { self.cache = cache }
}

extension CacheLog {
    /// Creates a log that writes to a logger of swift-log, or ``none`` without one.
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
