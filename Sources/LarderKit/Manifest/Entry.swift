import LarderCache
import LarderTransfer

/// One app of a manifest that has an icon.
public struct Entry: Equatable, Sendable {
    /// The app's name; "" if it has none. Text from outside.
    public let name: String
    /// Where the icon is, resolved against the base URL.
    public let icon: HTTPURL
    /// Higher is fetched first. Default: 0.
    public let priority: Int
    /// The digest that the icon's bytes must have, if the manifest names one.
    public let expectedDigest: Digest?
    /// The byte count that the icon must have, if the manifest names one.
    public let expectedSize: Int64?
    /// The resource's identity if the URL is signed or rotates; nil means the URL. Credentials are
    /// never part of it: entries that differ in them alone are one resource.
    public let key: String?

    /// The icon's URL as the manifest spells it, if that is an absolute URL without credentials
    /// and not the canonical spelling. Nil if the entry has a key, since that is no spelling of its
    /// URL: others would find its bytes under theirs.
    public let spelling: String?

    /// The same of an entry that has a key: an app asks for it, though nothing is looked up by it.
    package let keyedSpelling: String?

    /// The URL as an app has it that reads the manifest: exactly as that spells it if it is
    /// absolute and has no credentials, else in canonical spelling.
    package var writtenURL: String { spelling ?? keyedSpelling ?? icon.string }

    /// What its icon is looked up by in a cache: a `ResourceKey`.
    public var resourceKey: String { key.map(ResourceKey.named) ?? icon.key }

    /// Takes an entry's parts.
    public init(
        name: String = "", icon: HTTPURL, priority: Int = 0, expectedDigest: Digest? = nil,
        expectedSize: Int64? = nil, key: String? = nil, spelling: String? = nil
    ) {
        self.init(
            name: name, icon: icon, priority: priority, expectedDigest: expectedDigest,
            expectedSize: expectedSize, key: key, spelling: spelling, keyedSpelling: nil)
    }

    init(
        name: String, icon: HTTPURL, priority: Int, expectedDigest: Digest?,
        expectedSize: Int64?, key: String?, spelling: String?, keyedSpelling: String?
    ) {
        self.name = name
        self.icon = icon
        self.priority = priority
        self.expectedDigest = expectedDigest
        self.expectedSize = expectedSize
        self.key = key
        self.spelling = spelling
        self.keyedSpelling = keyedSpelling
    }
}
