import LarderCache

import struct Crypto.SHA256

/// One app of a manifest whose icon is in the manifest itself, as a `data:` URL.
public struct InlineEntry: Equatable, Sendable {
    /// More would not fit into an entry of a lock, which has them as Base64, in bytes.
    static let maximumSize = 764 << 10

    /// The app's name; "" if it has none. Text from outside.
    public let name: String
    /// The icon's bytes.
    public let bytes: [UInt8]
    /// Higher is stored first. Default: 0.
    public let priority: Int
    /// The digest that the bytes must have: what the manifest names; else their own, if there is
    /// a key, which may have been another icon's before.
    public let expectedDigest: Digest?
    /// The byte count that they must have, if the manifest names one.
    public let expectedSize: Int64?
    /// What the icon is looked up by in a cache, a `ResourceKey`: of the manifest's key, else the
    /// bytes' own name, `ni:///sha-256;<base64url>` (RFC 6920).
    public let resourceKey: String

    init(
        name: String, bytes: [UInt8], priority: Int, expectedDigest: Digest?,
        expectedSize: Int64?, key: String?
    ) {
        self.name = name
        self.bytes = bytes
        self.priority = priority
        self.expectedSize = expectedSize
        let digest = Digest(SHA256.hash(data: bytes))
        self.expectedDigest = expectedDigest ?? (key == nil ? nil : digest)
        resourceKey = key.map(ResourceKey.named) ?? ResourceKey.name(of: digest)
    }
}
