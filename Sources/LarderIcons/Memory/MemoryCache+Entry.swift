import Foundation

extension MemoryCache {
    /// An icon's bytes, and what is known of them. It never changes.
    public struct Entry: Sendable {
        /// Where the bytes were read before they were in memory.
        public enum Source: Sendable {
            /// A cache directory that may be written to.
            case disk
            /// A cache directory that is only read, such as one in an app's bundle.
            case bundle
            /// The icon's server.
            case network
        }

        /// The icon, as it is stored: not decoded.
        public let data: Data
        /// Its media type, such as `image/png`; nil if that is not known.
        public let mediaType: String?
        /// Where the bytes were read.
        public let source: Source

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - data: the icon's bytes. They should be all of their buffer, because a part keeps the
        ///     whole in memory. A part that does not begin with the buffer is copied.
        ///   - mediaType: by default, it is not known.
        ///   - source: where the bytes were read.
        public init(data: Data, mediaType: String? = nil, source: Source) {
            self.data =
                data.startIndex == 0 ? data : data.withUnsafeBytes { Data($0) }
            self.mediaType = mediaType
            self.source = source
        }
    }
}
