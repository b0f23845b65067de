import Crypto
import LarderCache

/// A file that is made piece by piece, and digested meanwhile.
final class GeneratedFile {
    private let file: FileDescriptor
    private var hasher = SHA256()
    private var buffer: [UInt8] = []
    private var count: Int64 = 0

    init(_ file: FileDescriptor) { self.file = file }

    func write(_ text: String) throws(CacheError) {
        buffer.append(contentsOf: text.utf8)
        if buffer.count >= 64 << 10 { try flush() }
    }

    func write(_ bytes: [UInt8]) throws(CacheError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= 64 << 10 { try flush() }
    }

    /// Writes the rest.
    func finish() throws(CacheError) -> (digest: LarderCache.Digest, count: Int64) {
        try flush()
        return (LarderCache.Digest(hasher.finalize()), count)
    }

    private func flush() throws(CacheError) {
        try file.write(buffer)
        hasher.update(data: buffer)
        count += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}
