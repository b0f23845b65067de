import LarderCore
import Logging

/// How a ``TransferLoop`` connects, how long it waits and what it refuses.
public struct TransferConfiguration: Sendable {
    /// The most requests under way at once. Default: 16. Transfers beyond it wait their turn,
    /// without a timeout running.
    public var maximumConnections = 16
    /// The most transfers under way at once to one scheme, host and port, and so connections too;
    /// streams of HTTP/2 count like connections. Default: 6.
    public var maximumConnectionsPerHost = 6
    /// Maximum number of further transfers that connect at once, each to another host, without a
    /// slot; at most ``maximumIdleConnections``. Default: 16.
    public var maximumConnectionsAhead = 16
    /// Maximum number of idle connections; at most a quarter of the process's open files. The least
    /// recently used one is closed first. Default: 64, since one over TLS takes about 100 kB.
    public var maximumIdleConnections = 64
    /// From the start of the name look-up to the end of the TLS handshake. Default: 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a connected transfer may stay below ``stallSpeed``; whole seconds, rounded up.
    /// Default: 30 s.
    public var stallTimeout: Duration = .seconds(30)
    /// The slowest speed that is not a stall, in bytes a second. Default: 100.
    public var stallSpeed = 100
    /// For a whole transfer, from its turn on; without effect if ``maximumBytesPerSecond`` is
    /// set, since who waits for a share takes as long as it takes. Default: 300 s.
    public var totalTimeout: Duration = .seconds(300)
    /// The `User-Agent` header field. Default: `larder`.
    public var userAgent = "larder"
    /// A PEM file of the certificate authorities to trust, for servers and https proxies. Default:
    /// `nil`, the system's.
    public var certificateAuthorities: String?
    /// What is shown to servers that ask for a certificate, if the request allows it
    /// (``TransferRequest/usesStoredCredentials``). Default: `nil`, nothing.
    public var clientCertificate: ClientCertificate?
    /// A file in the format of `.netrc` with names and passwords by host, used if the URL has
    /// none. Default: `nil`, none.
    public var netrcFile: String?
    /// Which URLs are fetched through a proxy. Default: none; the environment has no say.
    public var proxies = ProxySelection.none
    /// Which addresses may be connected to; a proxy's is no concern of it. Default: public ones
    /// only.
    public var addressPolicy = AddressPolicy.publicOnly
    /// Other hosts and ports to connect to; the first that fits counts. Default: none.
    public var connectTo: [ConnectToRule] = []
    /// Addresses that are known without a look-up. Default: none.
    public var resolve: [ResolveRule] = []
    /// The longest response head, interim responses and trailers included, in bytes.
    /// Default: 64 KiB.
    public var maximumHeaderBytes = 64 << 10
    /// The most fields of a response head, interim responses and trailers included. Default: 256.
    public var maximumHeaderFields = 256
    /// Maximum number of encoded body bytes a second of all transfers together. A waiting transfer
    /// does not stall. Default: `nil`, no limit.
    public var maximumBytesPerSecond: Int64?
    /// Receives messages about connections and transfers. URLs are logged without credentials and
    /// queries, and header fields are not logged. Default: `nil`, nothing is logged.
    public var logger: Logger?

    /// The defaults.
    public init() {}
}

/// A certificate of our own, for servers that ask for one.
public struct ClientCertificate: Hashable, Sendable {
    /// A PEM file with the certificate and the chain to its authority.
    public var certificate: String
    /// A PEM file with its private key, not encrypted; `nil`: it is in the certificate's file.
    public var key: String?

    /// A certificate in these files.
    public init(certificate: String, key: String? = nil) {
        self.certificate = certificate
        self.key = key
    }
}

extension HTTPURL {
    /// The URL for a log: without credentials and query, each of which can hold a secret.
    package var logged: Logger.MetadataValue { "\(description.maskingQuery)" }
}
