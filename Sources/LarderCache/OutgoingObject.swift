import Crypto
import Foundation

/// An object on its way to somebody else: read from its beginning, piece by piece, and compared
/// with its digest before the last piece is handed out. It stays, whatever an eviction takes.
package final class OutgoingObject: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.

    /// How many bytes it has.
    package let size: Int64
    private let digest: Digest
    private let file: FileDescriptor
    private let lock = NSLock()
    private var hasher = SHA256()
    private var place: Int64 = 0
    private var isDamaged = false

    init(_ object: StoredObject, file: FileDescriptor) {
        size = object.size
        digest = object.digest
        self.file = file
    }

    /// Whether the bytes turned out not to be those of the digest.
    package var isCorrupt: Bool { lock.withLock { isDamaged } }

    /// Fills as much of the buffer as there is from `offset` on: where the last piece ended, or the
    /// beginning.
    ///
    /// - Returns: how many bytes; nil if they cannot be read, or are not those of the digest.
    package func read(at offset: Int64, into buffer: UnsafeMutableRawBufferPointer) -> Int? {
        lock.withLock {
            if offset == 0 { (hasher, place) = (SHA256(), 0) }
            guard offset == place, !isDamaged else { return nil }
            let wanted = Int(min(Int64(buffer.count), size - offset))
            var count = 0
            while count < wanted {
                let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[count..<wanted])
                let read = pread(file.raw, rest.baseAddress, rest.count, off_t(offset) + count)
                if read < 0, errno == EINTR { continue }
                guard read > 0 else {
                    isDamaged = read == 0
                    return nil
                }
                count += read
            }
            hasher.update(bufferPointer: UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            place += Int64(count)
            if place == size, Digest(hasher.finalize()) != digest {
                isDamaged = true
                return nil
            }
            return count
        }
    }
}

extension Cache {
    /// Opens an object to send it elsewhere.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if its file is gone.
    package func outgoing(_ object: StoredObject) throws(CacheError) -> OutgoingObject {
        let object = sized(object)
        let file = try open(object).file
        // A sparse file is digested before anything is sent: nothing has been paid for its size.
        // Reads have their own offsets, so that the position does not matter.
        let status = try file.status()
        if status.st_size > status.plausibleBytes { _ = try confirm(file, is: object) }
        return OutgoingObject(object, file: file)
    }
}
