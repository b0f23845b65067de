import Foundation
import GRDB
import LarderCore

/// Removes object files without rows, inside write transactions, which keep rows from being added.
final class ObjectRemoval {
    /// Opened at the beginning: an error must not come after rows are gone.
    private let objects: FileDescriptor?
    private(set) var failure: CacheError?

    init(_ directory: CacheDirectory) throws(CacheError) {
        do throws(CacheError) {
            objects = try directory.objects()
        } catch  where error.isAbsence {
            objects = nil
        }
    }

    /// The number of files that are looked up before any is removed.
    private static let filesPerStep = 512
    /// More threads than cores, since they wait for the disk: ext4 on a virtual disk removed 9,000
    /// files a second on one, 18,000 on four, 28,000 on eight.
    private static let mostThreads = 8
    /// Fewer files than this are not worth a thread.
    private static let filesPerThread = 16
    private var threads = ObjectRemoval.mostThreads

    /// Removes the regular files of those objects that have no row, once that is durable. Goes from
    /// directory to directory: any other order takes a file system several times as long.
    @discardableResult
    func removeFiles(
        of digests: [Digest], in index: CacheIndex,
        where isRemovable: @escaping @Sendable (stat) -> Bool = { _ in true },
        unless isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> ObjectTally {
        var removed = ObjectTally()
        guard !digests.isEmpty, let objects else { return removed }
        try index.syncLog()
        var rest = digests.sorted { $0.firstByte < $1.firstByte }
        while !rest.isEmpty, !isCancelled() {
            try index.writeStep { db in
                let step = FileRemoval(
                    beneath: objects, until: ContinuousClock.now + WriteStep.time,
                    where: isRemovable)
                let next = rest.prefix(Self.filesPerStep)
                let row = try db.prepared("SELECT 1 FROM objects WHERE digest = ?")
                let files = try next.filter { try row.firstInteger($0) == nil }
                let outcome = try step.remove(
                    files, shares: min(threads, files.count / Self.filesPerThread + 1))
                failure = failure ?? outcome.refusal
                if outcome.lacksDescriptors { threads = 1 }
                removed += outcome.removed
                rest = outcome.left + rest.dropFirst(next.count)
            }
        }
        return removed
    }
}

/// One step of a removal, which several threads share. Each has one directory open at a time.
struct FileRemoval: Sendable {
    struct Outcome: Sendable {
        var removed = ObjectTally()
        /// Those that there was no time for, or no descriptor.
        var left: [Digest] = []
        var lacksDescriptors = false
        var refusal: CacheError?
        fileprivate var failure: CacheError?

        fileprivate static func += (sum: inout Outcome, other: Outcome) {
            sum.removed += other.removed
            sum.left += other.left
            sum.lacksDescriptors = sum.lacksDescriptors || other.lacksDescriptors
            sum.refusal = sum.refusal ?? other.refusal
            sum.failure = sum.failure ?? other.failure
        }
    }

    private let objects: FileDescriptor
    private let deadline: ContinuousClock.Instant
    private let isRemovable: @Sendable (stat) -> Bool

    init(
        beneath objects: FileDescriptor, until deadline: ContinuousClock.Instant,
        where isRemovable: @escaping @Sendable (stat) -> Bool
    ) {
        self.objects = objects
        self.deadline = deadline
        self.isRemovable = isRemovable
    }

    func remove(_ files: [Digest], shares: Int) throws(CacheError) -> Outcome {
        let size = (files.count + shares - 1) / shares
        let sum = Locked(Outcome())
        HelperThread.forEach(below: shares) { share in
            let own = files.dropFirst(share * size).prefix(size)
            let outcome = remove(own, isAlone: shares == 1)
            sum.withLock { $0 += outcome }
        }
        let outcome = sum.withLock { $0 }
        if let failure = outcome.failure { throw failure }
        return outcome
    }

    private func remove(_ own: ArraySlice<Digest>, isAlone: Bool) -> Outcome {
        var outcome = Outcome()
        var open: (name: String, fanOut: FileDescriptor?)?
        var rest = own
        do throws(CacheError) {
            // One at least, or a disk that is slow enough would never be done.
            while let digest = rest.first,
                rest.count == own.count || ContinuousClock.now < deadline
            {
                let name = CacheLayout.fanOut(digest)
                if open?.name != name {
                    // Closed before the next one is opened.
                    open = nil
                    open = (name, try fanOut(name, &outcome))
                }
                if let fanOut = open?.fanOut, let bytes = try remove(digest, from: fanOut) {
                    outcome.removed.add(bytes)
                }
                rest.removeFirst()
            }
        } catch  where error.errno == EMFILE && !isAlone {
            // The other threads have them.
            outcome.lacksDescriptors = true
        } catch {
            outcome.failure = error
        }
        outcome.left = Array(rest)
        return outcome
    }

    private func fanOut(
        _ name: String, _ outcome: inout Outcome
    ) throws(CacheError) -> FileDescriptor? {
        do throws(CacheError) {
            return try objects.directory(name)
        } catch  where error.isAbsence {
            return nil
        } catch  where error.isOutOfReach {
            outcome.refusal = error
            return nil
        }
    }

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
