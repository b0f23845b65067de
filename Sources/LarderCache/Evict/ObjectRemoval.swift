import Foundation
import GRDB

/// Removes object files that no row mentions, within a write transaction, which keeps any row from being
/// added meanwhile.
final class ObjectRemoval {
    private let fanOuts: FanOuts
    /// Why files are left whose directory cannot be entered; nil where none is.
    private(set) var failure: CacheError?

    init(_ directory: CacheDirectory) { fanOuts = FanOuts(directory) }

    /// Removes the files of those objects that have no row, once that is durable; a directory after the other,
    /// a step at a time: in an order that knows no directories a file system takes several times as long.
    func removeFiles(of digests: [Digest], in index: CacheIndex) throws(CacheError) {
        if digests.isEmpty { return }
        try index.syncLog()
        let groups = Dictionary(grouping: digests) { $0.leadingBits >> 56 }
        var rest = groups.keys.sorted().flatMap { groups[$0] ?? [] }
        while !rest.isEmpty {
            try index.writeStep { db in
                let deadline = ContinuousClock.now + Evictor.batchTime
                let next = rest.prefix(Self.filesPerStep)
                let files = try next.compactMap { digest in
                    try hasRow(digest, db) ? nil : try fanOut(of: digest).map { ($0, digest) }
                }
                rest = try unlink(files, until: deadline) + rest.dropFirst(next.count)
            }
        }
    }

    /// How many are looked up before any is removed.
    private static let filesPerStep = 512
    /// A file system that waits for its disk removes twice as much on two threads.
    private static let threads = 2

    /// Removes regular files on several threads.
    ///
    /// - Returns: those that were not reached by `deadline`.
    private func unlink(
        _ files: [(fanOut: FileDescriptor, digest: Digest)],
        until deadline: ContinuousClock.Instant
    ) throws(CacheError) -> [Digest] {
        let share = (files.count + Self.threads - 1) / Self.threads
        let lock = NSLock()
        // Unsafe because they are variables that several threads write; every access holds `lock`.
        nonisolated(unsafe) var rest: [Digest] = []
        nonisolated(unsafe) var failure: CacheError?
        DispatchQueue.concurrentPerform(iterations: Self.threads) { thread in
            let own = files.dropFirst(thread * share).prefix(share)
            for (position, file) in zip(own.indices, own) {
                // One at least, or a disk that is slow enough would never be done.
                if position > own.startIndex, ContinuousClock.now >= deadline {
                    lock.withLock { rest += own[position...].map(\.digest) }
                    return
                }
                do throws(CacheError) {
                    try Self.unlink(file.digest, in: file.fanOut)
                } catch {
                    lock.withLock { failure = failure ?? error }
                    return
                }
            }
        }
        if let failure { throw failure }
        return rest
    }

    private static func unlink(
        _ digest: Digest, in fanOut: FileDescriptor
    ) throws(CacheError) {
        let name = digest.hex
        guard try fanOut.status(of: name)?.isRegularFile == true else { return }
        guard unlinkat(fanOut.raw, name, 0) == 0 || errno == ENOENT else {
            throw CacheError("unlink", subject: CacheLayout.path(digest), errno: errno)
        }
    }

    /// Removes the files of those objects that have no row; what is no regular file is not the cache's
    /// own, and stays.
    ///
    /// - Parameters:
    ///   - deadline: the rest is left when it has passed: on some disks removing a file takes a millisecond.
    ///   - isRemovable: has the last word on a file. Default: every one is.
    ///   - onRemoved: is told of every file that was removed. Default: nothing.
    /// - Returns: the rest.
    func removeFiles(
        of digests: [Digest], in db: Database, until deadline: ContinuousClock.Instant,
        where isRemovable: (stat) -> Bool = { _ in true },
        onRemoved: (stat) -> Void = { _ in }
    ) throws -> [Digest] {
        for (position, digest) in digests.enumerated() {
            // One at least, or a disk that is slow enough would never be done.
            if position > 0, ContinuousClock.now >= deadline {
                return Array(digests[position...])
            }
            let name = digest.hex
            guard let fanOut = try fanOut(of: digest), let status = try fanOut.status(of: name),
                status.isRegularFile, isRemovable(status), try !hasRow(digest, db)
            else { continue }
            guard unlinkat(fanOut.raw, name, 0) == 0 || errno == ENOENT else {
                throw CacheError("unlink", subject: CacheLayout.path(digest), errno: errno)
            }
            onRemoved(status)
        }
        return []
    }

    /// Nil where its directory is out of reach; what may not be entered is kept for the report.
    private func fanOut(of digest: Digest) throws(CacheError) -> FileDescriptor? {
        do throws(CacheError) {
            return try fanOuts.directory(of: digest)
        } catch  where error.isOutOfReach {
            failure = failure ?? error
            return nil
        }
    }

    private func hasRow(_ digest: Digest, _ db: Database) throws -> Bool {
        try PreparedStatement(db, "SELECT 1 FROM objects WHERE digest = ?").firstInteger(digest)
            != nil
    }
}
