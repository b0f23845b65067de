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
        try digest(rest: file, subject: subject, into: &hasher)
        return Digest(hasher.finalize())
    }

    /// The digest of a file's bytes.
    static func digest(_ file: FileDescriptor, subject: String) throws(CacheError) -> Digest {
        var hasher = SHA256()
        try digest(rest: file, subject: subject, into: &hasher)
        return Digest(hasher.finalize())
    }

    private static func digest(
        rest file: FileDescriptor, subject: String, into hasher: inout SHA256
    ) throws(CacheError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: chunk, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            let read = try file.read(into: buffer, subject: subject)
            if read == 0 { return }
            hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<read]))
        }
    }
}
