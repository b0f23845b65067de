import Foundation

/// One step of a removal: files that several threads remove, each its share, until the time is up.
final class FileRemoval: @unchecked Sendable {
    // Unchecked because the sum and the failure are variables; every access holds `lock`. (`Mutex`
    // needs iOS 18.)

    typealias File = (fanOut: FileDescriptor, digest: Digest)

    struct Outcome {
        var removed = ObjectTally()
        /// Those whose turn did not come in time.
        var left: [Digest] = []
    }

    private let files: [File]
    private let deadline: ContinuousClock.Instant
    private let isRemovable: @Sendable (stat) -> Bool
    private let lock = NSLock()
    private var sum = Outcome()
    private var failure: CacheError?

    init(
        _ files: [File], until deadline: ContinuousClock.Instant,
        where isRemovable: @escaping @Sendable (stat) -> Bool
    ) {
        self.files = files
        self.deadline = deadline
        self.isRemovable = isRemovable
    }

    /// What all shares have come to.
    ///
    /// - Throws: why one of them has ended.
    func outcome() throws(CacheError) -> Outcome {
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        return sum
    }

    /// Removes one of `count` shares of the files.
    func run(share: Int, of count: Int) {
        let size = (files.count + count - 1) / count
        let own = files.dropFirst(share * size).prefix(size)
        var outcome = Outcome()
        do throws(CacheError) {
            for position in own.indices {
                // One at least, or a disk that is slow enough would never be done.
                if position > own.startIndex, ContinuousClock.now >= deadline {
                    outcome.left = own[position...].map(\.digest)
                    break
                }
                if let bytes = try remove(own[position]) { outcome.removed.add(bytes) }
            }
        } catch {
            lock.withLock { failure = failure ?? error }
        }
        lock.withLock {
            sum.removed += outcome.removed
            sum.left += outcome.left
        }
    }

    /// Returns the bytes on disk that are free since; nil if nothing was removed.
    private func remove(_ file: File) throws(CacheError) -> Int64? {
        let name = file.digest.hex
        guard let status = try file.fanOut.status(of: name), status.isRegularFile,
            isRemovable(status)
        else { return nil }
        if unlinkat(file.fanOut.raw, name, 0) == 0 { return status.freeableBytes }
        guard errno == ENOENT else {
            throw CacheError("unlink", subject: CacheLayout.path(file.digest), errno: errno)
        }
        return nil
    }
}
