import Foundation

/// The text of a key, compared as bytes: it comes from manifests, and `String` takes quadratic time
/// over combining marks.
package struct CacheKey: Hashable, Sendable {
    private let text: String

    package init(_ text: String) { self.text = text }

    /// How many bytes the text has.
    package var byteCount: Int { text.utf8.count }

    /// For one that is kept: text that is Foundation's own is converted once, not at each look-up.
    package init(kept text: String) {
        var text = text
        text.makeContiguousUTF8()
        self.text = text
    }

    // Not withUTF8, which retains the text each time: a quarter of a look-up.

    package static func == (left: CacheKey, right: CacheKey) -> Bool {
        left.text.utf8.withContiguousStorageIfAvailable { left in
            right.text.utf8.withContiguousStorageIfAvailable { right in
                left.count == right.count
                    && (left.isEmpty
                        || memcmp(left.baseAddress!, right.baseAddress!, left.count) == 0)
            }
        }.flatMap(\.self) ?? left.text.utf8.elementsEqual(right.text.utf8)
    }

    package func hash(into hasher: inout Hasher) {
        let isHashed: Void? = text.utf8.withContiguousStorageIfAvailable {
            hasher.combine(bytes: UnsafeRawBufferPointer($0))
        }
        if isHashed == nil { Array(text.utf8).withUnsafeBytes { hasher.combine(bytes: $0) } }
    }
}
