import Foundation

/// The key of a resource in the index, in one of three disjoint namespaces:
///
/// - the key of a URL (``HTTPURL/key``);
/// - `key:` followed by the `key` of a manifest entry, which can be any text, even a URL;
/// - `ni:///sha-256;…` (RFC 6920), derived from the bytes, for icons inside a manifest.
package enum ResourceKey {
    private static let own = "key:"
    private static let bytes = "ni:"

    package static func named(_ key: String) -> String { own + key }

    /// Returns the manifest entry's `key` from a resource key, or nil in the other namespaces.
    package static func name(in key: String) -> String? {
        // Compares bytes, because a `Character` could consist of the colon and a combining mark.
        guard key.utf8.starts(with: own.utf8) else { return nil }
        return String(decoding: key.utf8.dropFirst(own.utf8.count), as: UTF8.self)
    }

    package static func name(of digest: Digest) -> String {
        let base64 = Data(digest.bytes).base64EncodedString()
        return bytes + "///sha-256;"
            + base64.replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    /// Whether a key is outside the namespace of URLs.
    package static func isSpelledOut(_ text: String) -> Bool {
        [own, bytes].contains { text.utf8.starts(with: $0.utf8) }
    }

    package static func isApart(_ key: String, from url: String) -> Bool {
        isSpelledOut(key) && !key.isSame(as: url)
    }

    /// Whether a key may map to an object. An `ni:` key may map only to the bytes that it names.
    package static func mayName(_ digest: Digest, _ key: [UInt8]) -> Bool {
        !key.starts(with: bytes.utf8) || key.elementsEqual(name(of: digest).utf8)
    }

    /// Returns `url` for output, or `key` if `url` is nil. Masks the whole query of `url` if `key`
    /// is nil or not a URL, because such a URL is signed or changes often.
    package static func shownURL(_ url: String?, key: String?, hasCredentials: Bool) -> String? {
        let isKeyed = url != nil && (key.map(isSpelledOut) ?? true)
        let shown = isKeyed ? url?.maskingQuery : (url ?? key)?.maskingSecretsInQuery
        return hasCredentials ? shown?.showingMask : shown
    }
}

/// A resource key that is compared and hashed by its bytes.
package struct CacheKey: Hashable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    package var byteCount: Int { text.utf8.count }

    /// Makes a Foundation string contiguous once, instead of at each lookup.
    package init(kept text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
    }

    // `withUTF8` would retain the text, which takes a quarter of the time of a lookup.

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
    /// Returns the URL for output, with a masked query if `key` is not derived from the URL.
    package func shown(asURLOf key: String) -> String {
        (ResourceKey.isApart(key, from: self) ? maskingQuery : self).shownAsURL
    }
}
