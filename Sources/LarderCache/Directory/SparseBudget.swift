import Foundation

/// A limit on the bytes read from sparse files beyond their ``stat/plausibleBytes``. Intact objects
/// give their bytes back to the budget, because some file systems compress files.
package final class SparseBudget: @unchecked Sendable {
    // Unchecked because `condition` guards the variables.
    private let condition = NSCondition()
    /// The remaining bytes, initially four times the default size limit of a prefetch (16 MiB).
    private var left: Int64 = 64 << 20
    private var lent: Int64 = 0

    package init() {}

    /// Takes a file's excess bytes from the budget, and returns their number. Throws
    /// ``CacheError/isSparse`` if too few are left. With `isLent`, first waits for bytes that other
    /// files may return, so that the order of files does not matter.
    package func take(
        _ status: stat, of subject: String, isLent: Bool = false
    ) throws(CacheError) -> Int64 {
        // There may be a million objects, so an extra 1 MiB for each would be too much.
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
            throw CacheError(sparse: subject, size: Int64(status.st_size), status)
        }
        return excess
    }

    package func settle(_ excess: Int64, isLent: Bool = false, _ isReturned: Bool = true) {
        guard excess > 0 else { return }
        condition.withLock {
            if isLent { lent -= excess }
            if isReturned { left += excess }
            condition.broadcast()
        }
    }
}
