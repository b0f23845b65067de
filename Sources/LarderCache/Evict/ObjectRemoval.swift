import Foundation
import GRDB
import LarderCore

/// The removal of files without rows, in transactions that keep other processes from adding rows.
final class ObjectRemoval {
    /// Opened before rows are deleted, because opening may fail.
    private let objects: FileDescriptor?
    private(set) var failure: CacheError?
    /// The maximum number of threads, which mostly wait for the disk. With ext4, one thread removed
    /// 9,000 files a second and eight removed 28,000.
    private var threads = 8

    init(_ directory: CacheDirectory) throws(CacheError) {
        do throws(CacheError) {
            objects = try directory.objects()
        } catch  where error.isAbsence { objects = nil }
    }

    /// Makes the index durable, and then removes the regular files of objects without rows. Works
    /// through one directory after another, because other orders take several times as long.
    @discardableResult func removeFiles(
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
                    objects: objects, end: .now + WriteStep.time, isRemovable: isRemovable)
                let next = rest.prefix(512)
                let row = try db.prepared("SELECT 1 FROM objects WHERE digest = ?")
                let files = try next.filter { try row.firstInteger($0) == nil }
                let outcome = step.remove(files, shares: min(threads, files.count / 16 + 1))
                if let error = outcome.failure {
                    guard error.errno == EMFILE, threads > 1 else { throw error }
                    threads = 1  // Several threads need too many descriptors.
                }
                failure = failure ?? outcome.refusal
                removed += outcome.removed
                rest = outcome.left + rest.dropFirst(next.count)
            }
        }
        return removed
    }
}

struct FileRemoval: Sendable {
    struct Outcome: Sendable {
        var removed = ObjectTally()
        var left: [Digest] = []
        var refusal: CacheError?
        var failure: CacheError?
    }

    let objects: FileDescriptor
    let end: ContinuousClock.Instant
    let isRemovable: @Sendable (stat) -> Bool

    func remove(_ files: [Digest], shares: Int) -> Outcome {
        let size = (files.count + shares - 1) / shares
        let sum = Locked(Outcome())
        HelperThread.share(shares) { share in
            remove(files.dropFirst(share * size).prefix(size), sum)
        }
        return sum.withLock { $0 }
    }

    private func remove(_ own: ArraySlice<Digest>, _ sum: Locked<Outcome>) {
        var open: (name: String, fanOut: FileDescriptor?)?
        var rest = own
        do throws(CacheError) {
            // Each step handles at least one file, even on a slow disk.
            while let digest = rest.first,
                rest.count == own.count || ContinuousClock.now < end
            {
                let name = CacheLayout.fanOut(digest)
                if open?.name != name {
                    open = (name, nil)  // Closes the old directory before the next one is opened.
                    do throws(CacheError) {
                        open?.fanOut = try objects.directory(name)
                    } catch  where error.isOutOfReach {
                        if !error.isAbsence { sum.withLock { $0.refusal = $0.refusal ?? error } }
                    }
                }
                if let fanOut = open?.fanOut, let bytes = try remove(digest.hex, from: fanOut) {
                    sum.withLock { $0.removed.add(bytes) }
                }
                rest.removeFirst()
            }
        } catch { sum.withLock { $0.failure = $0.failure ?? error } }
        sum.withLock { $0.left += rest }
    }

    private func remove(_ name: String, from fanOut: FileDescriptor) throws(CacheError) -> Int64? {
        guard let status = try fanOut.status(of: name), status.isRegularFile, isRemovable(status)
        else { return nil }
        do throws(CacheError) {
            try fanOut.removeFile(name)
            return status.freeableBytes
        } catch  where error.errno == ENOENT { return nil }
    }
}
