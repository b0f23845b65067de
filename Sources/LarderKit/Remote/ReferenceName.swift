import LarderCache
import LarderTransfer

import struct Crypto.SHA256

/// Where a remote has what is known of a resource: `refs/<part>/<name>/`.
package struct ReferenceName: Hashable, Comparable, Sendable {
    /// The ``Part`` of the URL's host, or of the key if that is not a URL's.
    package let part: UInt8
    /// The SHA-256 of the resource's key.
    package let name: Digest

    /// The name of a resource.
    ///
    /// - Parameters:
    ///   - key: a `ResourceKey`.
    ///   - host: of its URL if the key is that of a URL; else nil.
    package init(key: String, host: String?) {
        part = (host.map { Part(ofHost: $0) } ?? Part(ofKey: key)).number
        name = Digest(SHA256.hash(data: Array(key.utf8)))
    }

    /// The name of a resource of the index.
    package init(key: String, url: String) {
        self.init(key: key, host: ResourceKey.isSpelledOut(key) ? nil : (try? HTTPURL(url))?.host)
    }

    /// A name that is known.
    package init(part: UInt8, name: Digest) {
        self.part = part
        self.name = name
    }

    /// The order of listings.
    package static func < (left: Self, right: Self) -> Bool {
        (left.part, left.name) < (right.part, right.name)
    }
}
