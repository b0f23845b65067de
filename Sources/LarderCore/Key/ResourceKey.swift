import Foundation

/// The key of a resource in the index. There are three namespaces, which never stand for each
/// other:
///
/// - a URL's key (``HTTPURL/key``): the bytes come from that URL and from nowhere else;
/// - `key:` and a manifest's `key`, which may be any text, also the URL of another resource;
/// - `ni:///sha-256;…` (RFC 6920): the name of the bytes themselves, for icons in a manifest.
package enum ResourceKey {
    private static let own = "key:"
    private static let bytes = "ni:"

    package static func named(_ key: String) -> String { own + key }

    /// The inverse of ``named(_:)``; nil for all other keys.
    package static func name(in key: String) -> String? {
        // In bytes: a combining mark behind the colon would make another character of it.
        guard key.utf8.starts(with: own.utf8) else { return nil }
        return String(decoding: key.utf8.dropFirst(own.utf8.count), as: UTF8.self)
    }

    package static func name(of digest: Digest) -> String {
        let base64 = Data(digest.bytes).base64EncodedString()
        return bytes + "///sha-256;"
            + base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Whether a key is of a namespace that a text may name: all but URLs.
    package static func isSpelledOut(_ text: String) -> Bool {
        [own, bytes].contains { text.utf8.starts(with: $0.utf8) }
    }

    /// Whether a key is neither the URL nor the URL's key.
    package static func isApart(_ key: String, from url: String) -> Bool {
        isSpelledOut(key) && !key.isSame(as: url)
    }

    /// Whether bytes with a digest may be found by a key: the name of other bytes lies.
    package static func mayName(_ digest: Digest, _ key: some Sequence<UInt8>) -> Bool {
        !key.starts(with: bytes.utf8) || key.elementsEqual(name(of: digest).utf8)
    }

    /// Returns the URL of a resource as outputs have it. `url` is nil if the key is the URL. With a
    /// key of its own, a URL is signed or rotates, and its query is not shown.
    package static func shownURL(_ url: String?, key: String?, hasCredentials: Bool) -> String? {
        let isKeyed = url != nil && (key.map(isSpelledOut) ?? true)
        let shown = isKeyed ? url?.maskingQuery : (url ?? key)?.maskingSecretsInQuery
        return hasCredentials ? shown?.showingMask : shown
    }
}

/// The text of a key, compared as bytes: `String` takes quadratic time over combining marks.
package struct CacheKey: Hashable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package var byteCount: Int { text.utf8.count }

    /// Converts text of Foundation once, instead of at each look-up.
    package init(kept text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
    }

    // withUTF8 would retain the text each time: a quarter of a look-up.

    package static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.text.isSame(as: right.text)
    }

    package func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { Array(text.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
    }
}

extension String {
    /// A URL as outputs show it. With a key of its own, it is signed or rotates, and has no query.
    package func shown(asURLOf key: String) -> String {
        (ResourceKey.isApart(key, from: self) ? maskingQuery : self).shownAsURL
    }
}
