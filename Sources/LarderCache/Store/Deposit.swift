import Foundation

/// One resource to be recorded with the next batch.
public struct Deposit: Sendable {
    /// What the resource resolves to.
    public enum Content: Sendable {
        /// Bytes that were staged by ``Store/stage(_:digest:attributes:)``.
        case staged(StagedObject)
        /// The object it had before: its origin answered 304.
        case unchanged(Digest)
    }

    /// The caller's own name for it, handed back with the outcome.
    public let token: Int64
    /// What the resource will be looked up by.
    public let key: String
    /// The URL it came from.
    public let url: String
    /// What the origin said about its age and version.
    public let validators: Validators
    /// When the response was received.
    public let receivedAt: Date
    /// What the resource resolves to.
    public let content: Content

    /// A resource to be recorded.
    public init(
        token: Int64, key: String, url: String, validators: Validators, receivedAt: Date,
        content: Content
    ) {
        self.token = token
        self.key = key
        self.url = url
        self.validators = validators
        self.receivedAt = receivedAt
        self.content = content
    }
}

/// Bytes that wait in the run's directory, or were found to be in the cache already. Good for the
/// deposits of one batch.
public struct StagedObject: Sendable {
    /// The digest of the bytes.
    public let digest: Digest
    /// How many there are.
    public let size: Int64
    /// What a check of the bytes found out.
    public let attributes: ObjectAttributes
    /// The staged file; nil where the index vouches for an object with this digest.
    let file: String?
}
