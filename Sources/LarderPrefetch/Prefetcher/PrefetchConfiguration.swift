import LarderCache
import LarderCore
import LarderHTTP
import LarderManifest
import Logging

/// How a run goes about its work.
public struct PrefetchConfiguration: Sendable {
    /// The cache directory; made if it is not there.
    public var cache: String
    /// How manifests are read. Default: as their content tells.
    public var manifestRules = ManifestRules()
    /// Transfers under way at once. Default: 16.
    public var maximumConcurrent = 16
    /// Requests in flight to one scheme, host and port. Default: 6. If several of them wait, at
    /// most one less than ``maximumConcurrent``, so that none holds every place.
    public var maximumPerHost = 6
    /// Requests a second to one scheme, host and port. Default: nil, no limit.
    public var ratePerHost: Double?
    /// Which failures are tried again, how often and when.
    public var retry = RetryPolicy()
    /// Larger bodies are refused. Default: 16 MiB.
    public var maximumObjectBytes: Int64 = 16 << 20
    /// Whether bodies that are not images are stored, too. Default: false.
    public var acceptsAnyContent = false
    /// Whether `no-store` responses are stored, as always stale, and not only checked. Default: no.
    public var storesUnstorable = false
    /// What is asked for of what is cached or has failed before.
    public var policy = PlanPolicy()
    /// The worker of a fleet that this run is. Default: nil, there is no other.
    public var shard: Shard?
    /// Whether each successful icon has an event. If false, most are only counted. Default: true.
    public var namesSuccesses = true
    var remembersFailures = true
    /// Called at the end for every icon, in the order of the manifests, if no icon failed and
    /// `policy` and `shard` left none alone (``Report/isLocked``). Default: nil.
    public var onLocked: (@Sendable (LockedEntry) -> Void)?
    /// Header fields to be sent. Default: none but those that larder itself needs.
    public var headers: [HeaderRule] = []
    /// Whether redirects from https to http are followed. Default: false.
    public var allowsDowngrade = false
    /// How connections are made: time-outs, certificates, proxies, refused addresses, User-Agent.
    public var transfer = TransferConfiguration()
    /// A store that several machines share, asked before the origins. Default: nil, none.
    public var remote: Remote?
    /// How long to wait for another process that rebuilds the cache's index. Default: not at all.
    public var lockWait = LockWait.none
    /// How long an interrupted run lets what is in flight finish. Default: 2 s.
    public var grace: Duration = .seconds(2)
    /// Receives messages of the run, and of connections unless ``transfer`` has its own logger.
    /// URLs are logged without credentials and queries. Default: nil, nothing is logged.
    public var logger: Logger?

    var loggedTransfer: TransferConfiguration {
        var transfer = transfer
        transfer.logger = transfer.logger ?? logger
        return transfer
    }

    /// What every request for an icon carries.
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

    /// The defaults, for a cache directory.
    public init(cache: String) { self.cache = cache }
}

extension CacheLog {
    /// Writes to a logger of swift-log. None, if there is no logger.
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
