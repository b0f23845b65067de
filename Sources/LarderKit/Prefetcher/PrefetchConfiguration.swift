import LarderTransfer

/// How a run is to go about its work.
public struct PrefetchConfiguration: Sendable {
    /// The cache directory; made if it is not there.
    public var cache: String
    /// What relative icon URLs are resolved against. Default: nil, they fail.
    public var baseURL: HTTPURL?
    /// Transfers under way at once. Default: 16.
    public var maximumConcurrent = 16
    /// Requests in flight to one scheme, host and port. Default: 6. Where several of them wait, at
    /// most one less than ``maximumConcurrent``, so that none holds every place.
    public var maximumPerHost = 6
    /// Attempts for each URL, the first included, where a failure may pass. Default: 5.
    public var attempts = 5
    /// Larger bodies are refused. Default: 16 MiB.
    public var maximumObjectBytes: Int64 = 16 << 20
    /// Whether bodies that are no images are stored, too. Default: false.
    public var acceptsAnyContent = false
    /// How connections are made: time-outs, certificates, refused addresses, User-Agent.
    public var transfer = TransferConfiguration()
    /// How long an interrupted run lets what is in flight finish. Default: 2 s.
    public var grace: Duration = .seconds(2)

    /// The defaults, for a cache directory.
    public init(cache: String) { self.cache = cache }
}
