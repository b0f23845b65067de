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
