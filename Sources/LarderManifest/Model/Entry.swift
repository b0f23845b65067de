import LarderCore

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
    /// never part of it.
    public let key: String?

    /// The ``spelling``, also if there is a key.
    package let writtenSpelling: String?

    /// The URL as the manifest spells it, if that is absolute, without credentials and not the
    /// canonical spelling. Nil if the entry has a key: its bytes may be found only by that.
    public var spelling: String? { key == nil ? writtenSpelling : nil }

    /// The URL as an app that reads the manifest has it.
    package var writtenURL: String { writtenSpelling ?? icon.string }

    /// What its icon is looked up by in a cache: a `ResourceKey`.
    public var resourceKey: String { key.map(ResourceKey.named) ?? icon.key }

    /// Takes an entry's parts.
    public init(
        name: String = "", icon: HTTPURL, priority: Int = 0, expectedDigest: Digest? = nil,
        expectedSize: Int64? = nil, key: String? = nil, spelling: String? = nil
    ) {
        self.name = name
        self.icon = icon
        self.priority = priority
        self.expectedDigest = expectedDigest
        self.expectedSize = expectedSize
        self.key = key
        writtenSpelling = spelling
    }
}

/// One app of a manifest whose icon is in the manifest itself, as a `data:` URL.
public struct InlineEntry: Equatable, Sendable {
    /// The maximum number of bytes. More would not fit into an entry of a lock, as Base64.
    package static let maximumSize = 764 << 10

    /// The app's name; "" if it has none. Text from outside.
    public let name: String
    /// The icon's bytes.
    public let bytes: [UInt8]
    /// Higher is stored first. Default: 0.
    public let priority: Int
    /// The digest that the bytes must have: the manifest's; else their own, if there is a key,
    /// which may have been another icon's before.
    public let expectedDigest: Digest?
    /// The byte count that they must have, if the manifest names one.
    public let expectedSize: Int64?
    /// A `ResourceKey`: the manifest's key, else `ni:///sha-256;<base64url>` (RFC 6920).
    public let resourceKey: String

    init(
        name: String, bytes: [UInt8], priority: Int, expectedDigest: Digest?,
        expectedSize: Int64?, key: String?
    ) {
        self.name = name
        self.bytes = bytes
        self.priority = priority
        self.expectedSize = expectedSize
        let digest = Digest(of: bytes)
        self.expectedDigest = expectedDigest ?? (key == nil ? nil : digest)
        resourceKey = key.map(ResourceKey.named) ?? ResourceKey.name(of: digest)
    }
}

/// One icon of an element of a manifest, or an element without any, in the manifest's order.
public struct ManifestItem: Sendable {
    /// The element's place among all of them, those that failed included; the first is 1.
    public let position: Int
    /// The icon's place among those of its element; the first is 1, also if there is none.
    public let icon: Int
    /// The line that the element begins on; nil in a binary plist.
    public let line: Int?
    /// The element's name, if it could be read; text from outside, not safe to print.
    public let name: String?
    /// What the element turned out to be.
    public let result: Result

    /// What an element turned out to be.
    public enum Result: Sendable {
        /// An entry with its icon, or one of its icons.
        case entry(Entry)
        /// The same with an icon that the manifest itself holds.
        case inline(InlineEntry)
        /// Nothing to fetch; the reason is for people.
        case skipped(String)
        /// Not usable; the others are.
        case failed(EntryError)
    }
}

/// The names of priorities, with the values of Foundation's `Operation.QueuePriority`.
package enum PriorityName: String, CaseIterable {
    case veryLow, low, normal, high, veryHigh

    /// From -8 to 8.
    package var value: Int { 4 * (Self.allCases.firstIndex(of: self)! - 2) }

    package init?(of priority: Int) {
        guard let name = Self.allCases.first(where: { $0.value == priority }) else { return nil }
        self = name
    }
}
