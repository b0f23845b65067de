import Foundation

/// One step of a removal: files that several threads remove, until the time is up. Each thread has
/// one directory open at a time.
final class FileRemoval: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    struct Outcome {
        var removed = ObjectTally()
        /// Those whose turn did not come in time, or that a thread had no descriptor for.
        var left: [Digest] = []
        /// Whether there were too few descriptors for so many threads.
        var lacksDescriptors = false
        /// Why files are left whose directory cannot be entered; nil if none is.
        var refusal: CacheError?
    }

    /// In the order of their directories.
    private let files: [Digest]
    private let objects: FileDescriptor
    private let deadline: ContinuousClock.Instant
    private let isRemovable: @Sendable (stat) -> Bool
    /// The number of parts that ``run()`` takes one after another.
    let shares: Int
    private let lock = NSLock()
    private var nextShare = 0
    private var sum = Outcome()
    private var failure: CacheError?

    /// - Parameter objects: The directory that holds the directories of the files.
    init(
        _ files: [Digest], beneath objects: FileDescriptor,
        until deadline: ContinuousClock.Instant, shares: Int,
        where isRemovable: @escaping @Sendable (stat) -> Bool
    ) {
        self.files = files
        self.objects = objects
        self.deadline = deadline
        self.isRemovable = isRemovable
        self.shares = shares
    }

    /// The sum of all shares.
    ///
    /// - Throws: The error that has ended one of them.
    func outcome() throws(CacheError) -> Outcome {
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        return sum
    }

    /// Removes the files of one share after another until no share is left. Called on several
    /// threads.
    func run() {
        while let share = takeShare() {
            let size = (files.count + shares - 1) / shares
            let outcome = remove(files.dropFirst(share * size).prefix(size))
            lock.withLock {
                sum.removed += outcome.removed
                sum.left += outcome.left
                sum.refusal = sum.refusal ?? outcome.refusal
                sum.lacksDescriptors = sum.lacksDescriptors || outcome.lacksDescriptors
            }
        }
    }

    private func takeShare() -> Int? {
        lock.withLock {
            guard nextShare < shares else { return nil }
            defer { nextShare += 1 }
            return nextShare
        }
    }

    private func remove(_ own: ArraySlice<Digest>) -> Outcome {
        var outcome = Outcome()
        var open: (name: String, fanOut: FileDescriptor?)?
        var rest = own
        do throws(CacheError) {
            for (position, digest) in zip(own.indices, own) {
                rest = own[position...]
                // One at least, or a disk that is slow enough would never be done.
                if position > own.startIndex, ContinuousClock.now >= deadline {
                    outcome.left = Array(rest)
                    break
                }
                let name = CacheLayout.fanOut(digest)
                if open?.name != name {
                    // Closed before the next one is opened.
                    open = nil
                    open = (name, try fanOut(name, &outcome))
                }
                guard let fanOut = open?.fanOut else { continue }
                if let bytes = try remove(digest, from: fanOut) { outcome.removed.add(bytes) }
            }
        } catch  where error.errno == EMFILE && shares > 1 {
            // The others have them.
            outcome.left = Array(rest)
            outcome.lacksDescriptors = true
        } catch {
            lock.withLock { failure = failure ?? error }
        }
        return outcome
    }

    /// Nil if the directory is out of reach.
    private func fanOut(
        _ name: String, _ outcome: inout Outcome
    ) throws(CacheError) -> FileDescriptor? {
        do throws(CacheError) {
            return try objects.directory(name)
        } catch  where error.isAbsence {
            // A link or a file is in its place, or nothing.
            return nil
        } catch  where error.isOutOfReach {
            outcome.refusal = error
            return nil
        }
    }

    /// Returns the bytes on disk that are free since; nil if nothing was removed.
    private func remove(
        _ digest: Digest, from fanOut: FileDescriptor
    ) throws(CacheError) -> Int64? {
        let name = digest.hex
        guard let status = try fanOut.status(of: name), status.isRegularFile, isRemovable(status)
        else { return nil }
        if unlinkat(fanOut.raw, name, 0) == 0 { return status.freeableBytes }
        guard errno == ENOENT else {
            throw CacheError("unlink", subject: CacheLayout.path(digest), errno: errno)
        }
        return nil
    }
}
