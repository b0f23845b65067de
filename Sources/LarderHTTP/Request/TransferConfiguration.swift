import LarderCore
import Logging

/// The settings of a ``TransferLoop``.
public struct TransferConfiguration: Sendable {
    /// Maximum number of connections, in addition to ``maximumIdleConnections``. Default: 16.
    public var maximumConnections = 16
    /// Maximum connections to one origin. Timeouts include the wait for a connection. Default: 6.
    public var maximumConnectionsPerHost = 6
    /// Maximum number of connections to open before a slot is free, each to a different host. The
    /// number is also limited to half of ``maximumIdleConnections``. Default: 16.
    public var maximumConnectionsAhead = 16
    /// Maximum number of idle connections, at most a quarter of the open file limit. The least
    /// recently used one is closed first. A connection with TLS takes about 100 kB. Default: 64.
    public var maximumIdleConnections = 64
    /// Maximum time from the name lookup to the end of the TLS handshake. Default: 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// Maximum time below ``stallSpeed``, rounded up to whole seconds. Default: 30 s.
    public var stallTimeout: Duration = .seconds(30)
    /// The lowest speed that is not a stall, in bytes per second. Default: 100.
    public var stallSpeed = 100
    /// Maximum time of a transfer, unless ``maximumBytesPerSecond`` is set. Default: 300 s.
    public var totalTimeout: Duration = .seconds(300)
    /// The `User-Agent` header field. Default: `larder`.
    public var userAgent = "larder"
    /// A PEM file of certificate authorities for servers and https proxies. Default: the system's.
    public var certificateAuthorities: String?
    /// The client certificate. Not sent after a redirect to a different origin. Default: nil.
    public var clientCertificate: ClientCertificate?
    /// A `.netrc` file, used for URLs without credentials. Default: nil.
    public var netrcFile: String?
    /// The proxies. Default: none.
    public var proxies = ProxySelection.none
    /// The allowed server addresses. Default: public addresses.
    public var addressPolicy = AddressPolicy.publicOnly
    /// Rules that replace the host and port to connect to. The first match applies. Default: none.
    public var connectTo: [ConnectToRule] = []
    /// Addresses to use without a lookup. Default: none.
    public var resolve: [ResolveRule] = []
    /// Maximum total size of a response's heads and trailers, in bytes. Default: 64 KiB.
    public var maximumHeaderBytes = 64 << 10
    /// Maximum rate of all transfers, in encoded body bytes per second. Default: nil, no limit.
    public var maximumBytesPerSecond: Int64?
    /// The logger. Logs contain no credentials, queries or header fields. Default: nil.
    public var logger: Logger?

    /// Creates the default configuration.
    public init() {}
}

/// A client certificate.
public struct ClientCertificate: Hashable, Sendable {
    /// A PEM file with the certificate and its chain.
    public var certificate: String
    /// A PEM file with the unencrypted private key. Nil if ``certificate`` contains the key.
    public var key: String?

    /// Creates a certificate from files.
    public init(certificate: String, key: String? = nil) {
        (self.certificate, self.key) = (certificate, key)
    }
}

extension HTTPURL {
    package var logged: Logger.MetadataValue { "\(description.maskingQuery)" }
}
