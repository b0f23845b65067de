import Crypto
import Foundation

/// Reads files from beginning to end through one buffer: allocating it for each of many small files
/// would take longer than reading them.
package final class ObjectReader {
    // Large enough that the calls do not count, small enough for a processor's cache.
    private let buffer = UnsafeMutableRawBufferPointer.allocate(
        byteCount: 256 * 1024, alignment: 16)
    private let budget: SparseBudget

    /// - Parameter budget: of all files that are read. Default: one for this reader.
    package init(_ budget: SparseBudget = SparseBudget()) { self.budget = budget }

    deinit { buffer.deallocate() }

    /// Returns the digest of a file's bytes and their number, or nil if reading was cancelled.
    ///
    /// - Parameters:
    ///   - expected: the digest that the file should have. A sparse file with this digest takes
    ///     nothing from the budget. Default: none.
    ///   - isCancelled: asked between the chunks of a file that has more than one. Default: never.
    ///   - onBytes: receives each chunk. Default: nothing.
    /// - Throws: ``CacheError``; ``CacheError/isSparse`` if the file states more bytes than the
    ///   budget allows, or grows while it is read.
    package func digest(
        _ file: FileDescriptor, expecting expected: Digest? = nil,
        isCancelled: () -> Bool = { false },
        onBytes: (UnsafeRawBufferPointer) throws(CacheError) -> Void = { _ in }
    ) throws(CacheError) -> (digest: Digest, count: Int64)? {
        let status = try file.status()
        let excess = try budget.take(status, of: file.subject, isLent: expected != nil)
        var comesBack = false
        defer { if expected != nil { budget.endLoan(of: excess, isWhole: comesBack) } }
        let limit = max(Int64(status.st_size), status.plausibleBytes)
        var hasher = SHA256()
        var count: Int64 = 0
        while true {
            let read = try file.read(into: buffer)
            if read == 0 { break }
            if count > 0, isCancelled() {
                comesBack = true
                return nil
            }
            count += Int64(read)
            guard count <= limit else {
                throw CacheError(
                    sparse: file.subject, size: count, allocated: status.allocatedBytes)
            }
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<read])
            hasher.update(bufferPointer: bytes)
            try onBytes(bytes)
        }
        let digest = Digest(hasher.finalize())
        comesBack = digest == expected
        return (digest, count)
    }
}
