/// An access key, as S3 stores hand them out.
public struct S3Credentials: Hashable, Sendable, CustomStringConvertible {
    /// Names the key.
    public var accessKey: String
    /// What signatures are made with.
    public var secretKey: String
    /// Comes with keys that expire.
    public var sessionToken: String?

    /// A key.
    public init(accessKey: String, secretKey: String, sessionToken: String? = nil) {
        self.accessKey = accessKey
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// Without the secrets.
    public var description: String { "\(accessKey) (secret)" }
}
