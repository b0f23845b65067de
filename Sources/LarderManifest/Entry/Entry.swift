import Foundation
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

/// One app of a manifest whose icon is in the manifest itself, as a `data:` URL.
public struct InlineEntry: Equatable, Sendable {
    /// More would not fit into an entry of a lock, which has them as Base64, in bytes.
    package static let maximumSize = 764 << 10

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

    package var value: Int {
        switch self {
        case .veryLow: -8
        case .low: -4
        case .normal: 0
        case .high: 4
        case .veryHigh: 8
        }
    }

    /// The name of exactly this priority, if it has one.
    package init?(of priority: Int) {
        guard let name = Self.allCases.first(where: { $0.value == priority }) else { return nil }
        self = name
    }
}

/// A `data:` URL, as the Fetch standard reads one (https://fetch.spec.whatwg.org/#data-urls).
struct DataURL {
    /// Everything behind the scheme, up to the fragment.
    private let content: ArraySlice<UInt8>

    /// Nil if the text has another scheme.
    init?(_ text: String) {
        // Most texts are other URLs, and need no copy.
        guard let first = text.utf8.first(where: { $0 > 0x20 }), first | 0x20 == UInt8(ascii: "d")
        else { return nil }
        let bytes = text.bytesOfURL
        guard bytes.prefix(5).isWord("data:") else { return nil }
        content = bytes.dropFirst(5).prefix { $0 != UInt8(ascii: "#") }
    }

    /// The bytes that it holds; nil if they cannot be decoded.
    var bytes: [UInt8]? {
        guard let comma = content.firstIndex(of: UInt8(ascii: ",")) else { return nil }
        let body = content[(comma + 1)...].percentDecoded
        return Self.isBase64(content[..<comma]) ? Self.base64Decoded(body) : body
    }

    /// Whether a media type ends with a semicolon, perhaps spaces, and `base64`.
    private static func isBase64(_ type: ArraySlice<UInt8>) -> Bool {
        var type = type
        while let last = type.last, isSpace(last) { type.removeLast() }
        guard type.suffix(6).isWord("base64") else { return false }
        return type.dropLast(6).last { $0 != 0x20 } == UInt8(ascii: ";")
    }

    /// The Infra standard's forgiving decoding: white space is ignored, and padding may lack.
    private static func base64Decoded(_ text: [UInt8]) -> [UInt8]? {
        var text = text.filter { !isSpace($0) }
        if text.count % 4 == 0 {
            for _ in 0..<2 where text.last == UInt8(ascii: "=") { text.removeLast() }
        }
        guard text.count % 4 != 1, !text.contains(UInt8(ascii: "=")) else { return nil }
        text += repeatElement(UInt8(ascii: "="), count: (4 - text.count % 4) % 4)
        return Data(base64Encoded: Data(text)).map(Array.init)
    }

    /// ASCII white space of the Infra standard.
    private static func isSpace(_ byte: UInt8) -> Bool {
        [0x09, 0x0A, 0x0C, 0x0D, 0x20].contains(byte)
    }
}
