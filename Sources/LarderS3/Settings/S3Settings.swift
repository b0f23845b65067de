import LarderTransfer

/// Where a bucket is, and who asks.
public struct S3Settings: Sendable {
    /// The bucket and the prefix.
    public var location: S3Location
    /// The server, such as `http://127.0.0.1:9000`; nil: Amazon's of the region.
    public var endpoint: HTTPURL?
    /// The region that signatures name.
    public var region: String
    /// Who asks; nil: nobody in particular, without a signature.
    public var credentials: S3Credentials?
    /// A PEM file of the certificate authorities that the server's is verified by. Default: nil,
    /// the same as for everything else.
    public var certificateAuthorities: String?

    /// Settings without a file or an environment having a say.
    public init(
        location: S3Location, endpoint: HTTPURL? = nil, region: String = "us-east-1",
        credentials: S3Credentials? = nil
    ) {
        self.location = location
        self.endpoint = endpoint
        self.region = region
        self.credentials = credentials
    }

    /// The bucket's URL, without a slash at the end. In the path, but for Amazon's own server,
    /// which wants the bucket's name in the host's, and cannot have it there over TLS if it has
    /// dots.
    var bucketURL: String {
        if let endpoint {
            let base = endpoint.string
            return (base.hasSuffix("/") ? String(base.dropLast()) : base) + "/\(location.bucket)"
        }
        let isChina = region.hasPrefix("cn-")
        let host = "s3.\(region).amazonaws.com\(isChina ? ".cn" : "")"
        return location.bucket.contains(".")
            ? "https://\(host)/\(location.bucket)" : "https://\(location.bucket).\(host)"
    }
}
