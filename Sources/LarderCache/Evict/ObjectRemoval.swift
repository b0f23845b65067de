import Foundation
import GRDB

/// Removes object files that no row mentions, within a write transaction, which keeps any row from
/// being added meanwhile.
final class ObjectRemoval {
    /// Opened at the beginning, and not when rows are gone already.
    private let objects: FileDescriptor?
    /// Why files are left whose directory cannot be entered; nil if none is.
    private(set) var failure: CacheError?

    /// - Throws: ``CacheError`` if the directory of objects cannot be opened; one that is not there
    ///   has no files.
    init(_ directory: CacheDirectory) throws(CacheError) {
        do throws(CacheError) {
            objects = try directory.objects()
        } catch  where error.isAbsence {
            objects = nil
        }
    }

    /// How many are looked up before any is removed.
    private static let filesPerStep = 512
    /// More threads than cores, since they wait for the disk: ext4 on a virtual disk removed 9,000
    /// files a second on one, 18,000 on four, 28,000 on eight.
    private static let mostThreads = 8
    /// Fewer files than this are not worth a thread.
    private static let filesPerThread = 16
    private var threads = ObjectRemoval.mostThreads

    /// Removes the files of those objects that have no row, once that is durable; a directory after
    /// the other, a step at a time: in an order that knows no directories a file system takes
    /// several times as long. What is not a regular file is not the cache's own, and stays.
    ///
    /// - Parameters:
    ///   - isRemovable: has the last word on a file; called on several threads. Default: every one
    ///     is.
    ///   - isCancelled: whether to leave the rest. Default: never.
    /// - Returns: what was removed.
    @discardableResult
    func removeFiles(
        of digests: [Digest], in index: CacheIndex,
        where isRemovable: @escaping @Sendable (stat) -> Bool = { _ in true },
        unless isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> ObjectTally {
        var removed = ObjectTally()
        guard !digests.isEmpty, let objects else { return removed }
        try index.syncLog()
        let groups = Dictionary(grouping: digests) { $0.leadingBits >> 56 }
        var rest = groups.keys.sorted().flatMap { groups[$0] ?? [] }
        while !rest.isEmpty, !isCancelled() {
            try index.writeStep { db in
                let deadline = ContinuousClock.now + WriteStep.time
                let next = rest.prefix(Self.filesPerStep)
                let files = try next.filter { try !hasRow($0, db) }
                let step = FileRemoval(
                    files, beneath: objects, until: deadline,
                    shares: min(threads, files.count / Self.filesPerThread + 1),
                    where: isRemovable)
                HelperThread.share(step.shares) { step.run() }
                let outcome = try step.outcome()
                failure = failure ?? outcome.refusal
                if outcome.lacksDescriptors { threads = 1 }
                removed += outcome.removed
                rest = outcome.left + rest.dropFirst(next.count)
            }
        }
        return removed
    }

    private func hasRow(_ digest: Digest, _ db: Database) throws -> Bool {
        try PreparedStatement(db, "SELECT 1 FROM objects WHERE digest = ?").firstInteger(digest)
            != nil
    }
}
