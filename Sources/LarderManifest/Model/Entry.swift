import LarderCore

/// An app whose icon is at a URL.
public struct Entry: Equatable, Sendable {
    /// The app's name, or empty if unknown. Untrusted text.
    package let name: String
    package let icon: HTTPURL
    /// Higher priorities are fetched first.
    package let priority: Int
    package let expectation: Expectation
    /// The identity of a resource whose URL is signed or changes. If nil, the URL is the identity.
    package let key: String?
    /// The absolute URL as written in the manifest, if it is not canonical and has no credentials.
    package let writtenSpelling: String?

    /// ``writtenSpelling``, or nil if there is a ``key``, because only the key finds the icon.
    package var spelling: String? { key == nil ? writtenSpelling : nil }

    package var writtenURL: String { writtenSpelling ?? icon.string }

    package var resourceKey: String { key.map(ResourceKey.named) ?? icon.key }
}

/// An app whose icon is a `data:` URL.
public struct InlineEntry: Equatable, Sendable {
    /// The maximum size of an icon in bytes, so that its Base64 fits into a lock file entry.
    package static let maximumSize = 764 << 10

    /// The app's name, or empty if unknown. Untrusted text.
    package let name: String
    package let bytes: [UInt8]
    /// Higher priorities are stored first.
    package let priority: Int
    /// With a key, includes the digest, because the cache may have another icon under that key.
    package let expectation: Expectation
    /// The cache key: the manifest's key, or else `ni:///sha-256;<base64url>` (RFC 6920).
    public let resourceKey: String

    init(name: String, bytes: [UInt8], priority: Int, expectation: Expectation, key: String?) {
        self.name = name
        self.bytes = bytes
        self.priority = priority
        let digest = Digest(of: bytes)
        let expected = expectation.digest ?? (key == nil ? nil : digest)
        self.expectation = Expectation(digest: expected, size: expectation.size)
        resourceKey = key.map(ResourceKey.named) ?? ResourceKey.name(of: digest)
    }
}

/// An icon of a manifest's element, or an element without an icon.
public struct ManifestItem: Sendable {
    /// The number of the element, from 1. Failed elements are also counted.
    public let position: Int
    /// The number of the icon in its element, from 1. It is 1 without an icon.
    public internal(set) var icon = 1
    /// The line where the element starts, or nil in a binary plist.
    public let line: Int?
    /// The element's name, if readable. Untrusted text.
    public internal(set) var name: String?
    /// The icon as written, or nil if the element has no readable icon.
    public internal(set) var value: IconValue?
    /// The outcome for the icon or element.
    public internal(set) var result = Result.skipped("no icon")

    /// The outcome for an icon or element.
    public enum Result: Sendable {
        /// An icon at a URL.
        case entry(Entry)
        /// An icon in the manifest itself.
        case inline(InlineEntry)
        /// An element without an icon, and the reason.
        case skipped(String)
        /// An icon that is not fetched because of its kind. Not a failure.
        case unfetched(IconValue.Kind)
        /// An unusable element or icon.
        case failed(EntryError)

        package var expectation: Expectation {
            switch self {
            case .entry(let entry): entry.expectation
            case .inline(let entry): entry.expectation
            case .skipped, .unfetched, .failed: .init(digest: nil, size: nil)
            }
        }
    }

    package var resourceKey: String? {
        switch result {
        case .entry(let entry): entry.resourceKey
        case .inline(let entry): entry.resourceKey
        case .skipped, .unfetched, .failed: nil
        }
    }

    package var shownURL: String? {
        guard case .entry(let entry) = result else { return nil }
        return ResourceKey.shownURL(
            entry.icon.string, key: entry.key.map(ResourceKey.named),
            hasCredentials: entry.icon.credentials != nil)?.sanitizedForTerminal
    }
}

/// Names of priorities, with the values of Foundation's `Operation.QueuePriority`.
package enum PriorityName: String, CaseIterable {
    case veryLow, low, normal, high, veryHigh

    package var value: Int { 4 * (Self.allCases.firstIndex(of: self)! - 2) }
}
