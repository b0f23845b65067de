import Crypto
import Foundation

/// Reads an object's file from beginning to end.
enum ObjectReader {
    /// Large enough that the calls do not count, small enough for a processor's cache.
    static let chunk = 256 * 1024

    /// The digest of a file's bytes, which also fill `bytes` where room is offered.
    ///
    /// Bytes beyond the room are digested too, so that a longer file never has the same digest.
    static func digest(
        _ file: FileDescriptor, subject: String, into bytes: inout [UInt8]
    ) throws(CacheError) -> Digest {
        var hasher = SHA256()
        var filled = 0
        let count = bytes.count
        let result: Result<Void, CacheError> = bytes.withUnsafeMutableBytes { room in
            Result { () throws(CacheError) in
                while filled < count {
                    let free = UnsafeMutableRawBufferPointer(rebasing: room[filled...])
                    let read = try file.read(into: free, subject: subject)
                    if read == 0 { return }
                    hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: free[..<read]))
                    filled += read
                }
            }
        }
        try result.get()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
        defer { buffer.deallocate() }
        _ = try digest(
            rest: file, subject: subject, buffer, into: &hasher, isCancelled: { false },
            onBytes: { _ in })
        return Digest(hasher.finalize())
    }

    /// The digest of a file's bytes, and how many there are; nil if reading was broken off.
    ///
    /// - Parameters:
    ///   - buffer: room to read into: making it anew for each of many small files would take longer
    ///     than reading them.
    ///   - isCancelled: asked between the chunks of a file that has more than one.
    ///   - onBytes: is lent every part that was read. Default: nothing.
    static func digest(
        _ file: FileDescriptor, subject: String, buffer: UnsafeMutableRawBufferPointer,
        isCancelled: () -> Bool,
        onBytes: (UnsafeRawBufferPointer) throws(CacheError) -> Void = { _ in }
    ) throws(CacheError) -> (Digest, Int64)? {
        var hasher = SHA256()
        guard
            let count = try digest(
                rest: file, subject: subject, buffer, into: &hasher, isCancelled: isCancelled,
                onBytes: onBytes)
        else { return nil }
        return (Digest(hasher.finalize()), count)
    }

    private static func digest(
        rest file: FileDescriptor, subject: String, _ buffer: UnsafeMutableRawBufferPointer,
        into hasher: inout SHA256, isCancelled: () -> Bool,
        onBytes: (UnsafeRawBufferPointer) throws(CacheError) -> Void
    ) throws(CacheError) -> Int64? {
        var count: Int64 = 0
        while true {
            let read = try file.read(into: buffer, subject: subject)
            if read == 0 { return count }
            if count > 0, isCancelled() { return nil }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<read])
            hasher.update(bufferPointer: bytes)
            try onBytes(bytes)
            count += Int64(read)
        }
    }
}
