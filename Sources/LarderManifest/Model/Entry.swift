import LarderCore

/// An app whose icon is at a URL.
public struct Entry: Equatable, Sendable {
    /// The app's name, or "" if unknown. Foreign text.
    public let name: String
    /// The absolute URL of the icon.
    public let icon: HTTPURL
    /// Higher priorities are fetched first. Default: 0.
    public let priority: Int
    /// The required digest. Nil permits any.
    public let expectedDigest: Digest?
    /// The required size in bytes. Nil permits any.
    public let expectedSize: Int64?
    /// The resource's identity, for a URL that is signed or changes. If nil, the URL without
    /// credentials identifies it.
    public let key: String?

    package let writtenSpelling: String?

    /// The manifest's spelling of the URL, if it is absolute, not canonical and without
    /// credentials. Nil with a ``key``, because then only the key finds the icon.
    public var spelling: String? { key == nil ? writtenSpelling : nil }

    package var writtenURL: String { writtenSpelling ?? icon.string }

    /// The icon's cache key (a `ResourceKey`).
    public var resourceKey: String { key.map(ResourceKey.named) ?? icon.key }

    /// Creates an entry. `spelling` is the manifest's spelling of the URL, if different.
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

/// An app whose icon is a `data:` URL.
public struct InlineEntry: Equatable, Sendable {
    /// The maximum size of an icon in bytes, so that its Base64 fits into a lock file entry.
    package static let maximumSize = 764 << 10

    /// The app's name, or "" if unknown. Foreign text.
    public let name: String
    /// The icon's bytes.
    public let bytes: [UInt8]
    /// Higher priorities are stored first. Default: 0.
    public let priority: Int
    /// The required digest. With a key, the default is the digest of ``bytes``, because the cache
    /// may contain a different icon under that key.
    public let expectedDigest: Digest?
    /// The required size in bytes. Nil permits any.
    public let expectedSize: Int64?
    /// The cache key: the manifest's key, or else `ni:///sha-256;<base64url>` (RFC 6920).
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

/// An icon of a manifest's element, or an element without an icon.
public struct ManifestItem: Sendable {
    /// The number of the element, from 1, including failed elements.
    public let position: Int
    /// The number of the icon in its element, from 1. It is 1 without an icon.
    public internal(set) var icon = 1
    /// The line where the element starts. Nil in a binary plist.
    public let line: Int?
    /// The element's name, if readable. Foreign text.
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
            case .entry(let entry): .init(digest: entry.expectedDigest, size: entry.expectedSize)
            case .inline(let entry): .init(digest: entry.expectedDigest, size: entry.expectedSize)
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

package struct Expectation: Sendable {
    package let digest: Digest?
    package let size: Int64?

    package init(digest: Digest?, size: Int64?) {
        self.digest = digest
        self.size = size
    }

    package var isDemanding: Bool { digest != nil || size != nil }

    /// The codes are listed in docs/output.md.
    package func mismatch(
        digest actual: Digest, size actualSize: Int64
    ) -> (code: String, message: String)? {
        if let digest, digest != actual {
            return (
                "integrity-mismatch",
                "expected \(digest), received \(actual) (\(actualSize) bytes);"
                    + " check the manifest's digest and the server's file"
            )
        }
        if let size, size != actualSize {
            return ("size-mismatch", "expected \(Int(size).of("byte")), received \(actualSize)")
        }
        return nil
    }
}
