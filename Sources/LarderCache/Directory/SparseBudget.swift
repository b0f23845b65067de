import Foundation

/// Limits the bytes that are read of sparse files, whose size costs their maker nothing.
///
/// A file may be read up to its ``stat/plausibleBytes``. Bytes beyond that are taken from one
/// budget for all files, which whole objects give back. So whole objects on a compressing file
/// system are read, and a directory full of holes costs at most the budget. Objects are not granted
/// the MiB of their plausible bytes: a directory may have a million of them.
package final class SparseBudget: @unchecked Sendable {
    // Unchecked because `left` is a variable; every access holds `lock`.

    private let lock = NSLock()
    /// In bytes: several times the largest object that a prefetch stores by default (16 MiB).
    private var left: Int64 = 64 << 20

    package init() {}

    /// Takes the bytes that the file states beyond its plausible size.
    ///
    /// - Parameter isGivenBack: whether the caller gives the bytes back if the file is a whole
    ///   object. Then it also takes the MiB. Default: false.
    /// - Returns: the number of bytes taken, for ``giveBack(_:)``.
    /// - Throws: ``CacheError/isSparse`` if there is not enough left.
    package func take(
        _ status: stat, of subject: String, isGivenBack: Bool = false
    ) throws(CacheError) -> Int64 {
        let free = isGivenBack ? status.plausibleBytes - (1 << 20) : status.plausibleBytes
        let excess = Int64(status.st_size) - free
        guard excess > 0 else { return 0 }
        let isTaken = lock.withLock {
            guard excess <= left else { return false }
            left -= excess
            return true
        }
        guard isTaken else {
            throw CacheError(
                sparse: subject, size: Int64(status.st_size), allocated: status.allocatedBytes)
        }
        return excess
    }

    /// Gives back the bytes taken for a file that had the right digest.
    package func giveBack(_ excess: Int64) {
        if excess > 0 { lock.withLock { left += excess } }
    }
}
