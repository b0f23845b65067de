/// How a ``TransferLoop`` connects, how long it waits and what it refuses.
public struct TransferConfiguration: Sendable {
    /// The most transfers under way at once, and so connections too. Default: 16. Transfers beyond
    /// it wait their turn, without a timeout running.
    public var maximumConnections = 16
    /// The most transfers under way at once to one scheme, host and port, and so connections too;
    /// streams of HTTP/2 count like connections. Default: 6.
    public var maximumConnectionsPerHost = 6
    /// From the start of the name look-up to the end of the TLS handshake. Default: 10 s.
    public var connectTimeout: Duration = .seconds(10)
    /// How long a connected transfer may stay below ``stallSpeed``; whole seconds, rounded up.
    /// Default: 30 s.
    public var stallTimeout: Duration = .seconds(30)
    /// The slowest speed that is not a stall, in bytes a second. Default: 100.
    public var stallSpeed = 100
    /// For a whole transfer, from its turn on. Default: 300 s.
    public var totalTimeout: Duration = .seconds(300)
    /// The `User-Agent` header field. Default: `larder`.
    public var userAgent = "larder"
    /// A PEM file of the certificate authorities to trust. Default: `nil`, the system's.
    public var certificateAuthorities: String?
    /// Which addresses may be connected to. Default: public ones only.
    public var addressPolicy = AddressPolicy.publicOnly
    /// The longest response head, interim responses and trailers included, in bytes.
    /// Default: 64 KiB.
    public var maximumHeaderBytes = 64 << 10

    /// The defaults.
    public init() {}
}
