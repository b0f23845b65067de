import Foundation

/// Limits the bytes that are read of sparse files, whose size costs their maker nothing.
///
/// A file may be read up to its ``stat/plausibleBytes``. Bytes beyond that are taken from one
/// budget for all files, which whole objects give back, as on a compressing file system. Objects
/// are not granted the MiB of their plausible bytes: a directory may have a million of them.
package final class SparseBudget: @unchecked Sendable {
    // Unchecked because its state is variables; every access holds `condition`.

    private let condition = NSCondition()
    /// In bytes: several times the largest object that a prefetch stores by default (16 MiB).
    private var left: Int64 = 64 << 20
    /// The bytes taken for files that are being read, which may come back.
    private var lent: Int64 = 0

    package init() {}

    /// Takes the bytes beyond the file's plausible size, and returns their number. Throws
    /// ``CacheError/isSparse`` if not enough are left. If the caller ends the loan
    /// (``endLoan(of:isWhole:)``), other loans that may come back are waited for, so that the
    /// verdict about a file does not depend on them.
    package func take(
        _ status: stat, of subject: String, isLent: Bool = false
    ) throws(CacheError) -> Int64 {
        let free = isLent ? status.plausibleBytes - (1 << 20) : status.plausibleBytes
        let excess = Int64(status.st_size) - free
        guard excess > 0 else { return 0 }
        let isTaken = condition.withLock {
            while isLent, excess > left, excess <= left + lent { condition.wait() }
            guard excess <= left else { return false }
            left -= excess
            if isLent { lent += excess }
            return true
        }
        guard isTaken else {
            throw CacheError(
                sparse: subject, size: Int64(status.st_size), allocated: status.allocatedBytes)
        }
        return excess
    }

    package func giveBack(_ excess: Int64) {
        if excess > 0 { condition.withLock { left += excess } }
    }

    func endLoan(of excess: Int64, isWhole: Bool) {
        guard excess > 0 else { return }
        condition.withLock {
            lent -= excess
            if isWhole { left += excess }
            condition.broadcast()
        }
    }
}
