import LarderCore
import Logging

/// The settings of a ``TransferLoop``.
public struct TransferConfiguration: Sendable {
    /// Maximum number of requests in flight. The timeouts of waiting transfers do not
    /// run.
    /// Default: 16.
    public var maximumConnections = 16
    /// Maximum number of connections to one scheme, host and port. While a transfer waits for one,
    /// its timeouts run. Default: 6.
    public var maximumConnectionsPerHost = 6
    /// Maximum number of connections that a prefetch opens before a slot is free, each to another
    /// host; at most half of ``maximumIdleConnections``. Default: 16.
    public var maximumConnectionsAhead = 16
    /// Maximum number of idle connections; at most a quarter of the process's open files. The least
    /// recently used one is closed first. Default: 64, since one over TLS takes about 100 kB.
    public var maximumIdleConnections = 64
    /// From the start of the name look-up to the end of the TLS handshake. Default: 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// Maximum time of a connected transfer below ``stallSpeed``, rounded up to whole seconds.
    /// Default: 30 s.
    public var stallTimeout: Duration = .seconds(30)
    /// The slowest speed that is not a stall, in bytes a second. Default: 100.
    public var stallSpeed = 100
    /// Maximum time of a transfer, without the wait for a slot. Ignored if
    /// ``maximumBytesPerSecond`` is set. Default: 300 s.
    public var totalTimeout: Duration = .seconds(300)
    /// The `User-Agent` header field. Default: `larder`.
    public var userAgent = "larder"
    /// A PEM file of the certificate authorities to trust, for servers and https proxies. Default:
    /// `nil`, the system's.
    public var certificateAuthorities: String?
    /// The certificate for servers that ask for one, if
    /// ``TransferRequest/usesStoredCredentials`` allows it. Default: `nil`, none.
    public var clientCertificate: ClientCertificate?
    /// A `.netrc` file with names and passwords by host, used if the URL has none. Default: `nil`.
    public var netrcFile: String?
    /// The proxies, by URL. Default: none. The environment is ignored.
    public var proxies = ProxySelection.none
    /// The addresses of servers that may be connected to. Default: public ones only.
    public var addressPolicy = AddressPolicy.publicOnly
    /// Other hosts and ports to connect to. The first match is used. Default: none.
    public var connectTo: [ConnectToRule] = []
    /// Addresses to use without a look-up. Default: none.
    public var resolve: [ResolveRule] = []
    /// Maximum size of a response's interim heads, head and trailers, in bytes. Default: 64 KiB.
    public var maximumHeaderBytes = 64 << 10
    /// Maximum number of fields in them. Default: 256.
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

/// A certificate for servers that ask for one.
public struct ClientCertificate: Hashable, Sendable {
    /// A PEM file with the certificate and the chain to its authority.
    public var certificate: String
    /// A PEM file with the unencrypted private key; `nil` if the certificate's file has it.
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
