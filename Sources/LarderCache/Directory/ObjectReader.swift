import Crypto
import Foundation

/// Reads objects' files from beginning to end, all through one buffer: making it anew for each of
/// many small files would take longer than reading them.
package final class ObjectReader {
    // Large enough that the calls do not count, small enough for a processor's cache.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 256 * 1024, alignment: 16)

    package init() {}

    deinit { buffer.deallocate() }

    /// The digest of a file's bytes, and how many there are; nil if reading was broken off.
    ///
    /// - Parameters:
    ///   - isCancelled: asked between the chunks of a file that has more than one. Default: never.
    ///   - onBytes: is lent every part that was read. Default: nothing.
    package func digest(
        _ file: FileDescriptor, isCancelled: () -> Bool = { false },
        onBytes: (UnsafeRawBufferPointer) throws(CacheError) -> Void = { _ in }
    ) throws(CacheError) -> (digest: Digest, count: Int64)? {
        var hasher = SHA256()
        var count: Int64 = 0
        while true {
            let read = try file.read(into: buffer)
            if read == 0 { return (Digest(hasher.finalize()), count) }
            if count > 0, isCancelled() { return nil }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<read])
            hasher.update(bufferPointer: bytes)
            try onBytes(bytes)
            count += Int64(read)
        }
    }
}
