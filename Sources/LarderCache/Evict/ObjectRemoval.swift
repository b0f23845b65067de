import Foundation
import GRDB

/// Removes object files that no row mentions, within a write transaction, which keeps any row from
/// being added meanwhile.
final class ObjectRemoval {
    private let fanOuts: FanOuts
    /// Why files are left whose directory cannot be entered; nil if none is.
    private(set) var failure: CacheError?

    init(_ directory: CacheDirectory) { fanOuts = FanOuts(directory) }

    /// How many are looked up before any is removed.
    private static let filesPerStep = 512
    /// Threads of their own, since they wait for the disk and not for a processor: ext4 on a
    /// virtual disk removed 9,000 files a second on one, 18,000 on four, 28,000 on eight.
    private static let threads = (1...8).map { DispatchQueue(label: "larder.removal.\($0)") }

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
        if digests.isEmpty { return removed }
        try index.syncLog()
        let groups = Dictionary(grouping: digests) { $0.leadingBits >> 56 }
        var rest = groups.keys.sorted().flatMap { groups[$0] ?? [] }
        while !rest.isEmpty, !isCancelled() {
            try index.writeStep { db in
                let deadline = ContinuousClock.now + WriteStep.time
                let next = rest.prefix(Self.filesPerStep)
                let files = try next.compactMap { digest in
                    try hasRow(digest, db) ? nil : try fanOut(of: digest).map { ($0, digest) }
                }
                let step = FileRemoval(files, until: deadline, where: isRemovable)
                let group = DispatchGroup()
                for (share, thread) in Self.threads.enumerated() {
                    thread.async(group: group) { step.run(share: share, of: Self.threads.count) }
                }
                group.wait()
                let outcome = try step.outcome()
                removed += outcome.removed
                rest = outcome.left + rest.dropFirst(next.count)
            }
        }
        return removed
    }

    /// Nil if its directory is out of reach; what may not be entered is kept for the report.
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
