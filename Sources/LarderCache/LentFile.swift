import CLarderSystem
import Foundation

/// An open file that is sent: of an object whose bytes were compared with its digest, or of what
/// the sender has made. It stays, whatever an eviction takes meanwhile.
package final class LentFile: Sendable {
    /// How many bytes it has.
    package let size: Int64
    private let file: FileDescriptor

    package init(_ file: FileDescriptor, size: Int64) {
        self.file = file
        self.size = size
    }

    /// Whether it is what it was when it was compared with the digest.
    package func isStill(_ known: FileIdentity) -> Bool {
        (try? file.status()).map { FileIdentity($0) == known } ?? false
    }

    /// Whether somebody has cut it off meanwhile.
    package var isShortened: Bool { (try? file.status()).map { $0.st_size < size } ?? true }

    /// A descriptor of the caller's own, with a position of its own.
    ///
    /// - Throws: ``CacheError`` if the process has too many.
    package func descriptor() throws(CacheError) -> Int32 {
        let copy = fcntl(file.raw, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw CacheError("open", subject: file.subject, errno: errno) }
        return copy
    }

    /// Fills `buffer` with the bytes from `offset` on; false if there are fewer, or they cannot be
    /// read.
    ///
    /// - Parameter atOnce: whether to read only what is in memory. Default: false.
    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer, atOnce: Bool = false
    ) -> Bool {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let place = offset + Int64(filled)
            let count =
                atOnce
                ? Self.readAtOnce(file.raw, rest, place)
                : pread(file.raw, rest.baseAddress, rest.count, off_t(place))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return false }
            filled += count
        }
        return true
    }

    private static func readAtOnce(
        _ file: Int32, _ room: UnsafeMutableRawBufferPointer, _ offset: Int64
    ) -> Int {
        #if os(Linux)
            larder_read_cached(file, room.baseAddress, UInt(room.count), offset)
        #else
            -1
        #endif
    }
}
