import Foundation
import GRDB

/// Removes object files that no row mentions, within a write transaction, which keeps any row from being
/// added meanwhile.
final class ObjectRemoval {
    private let directory: CacheDirectory
    /// Kept open, because the victims of every transaction lie in all of them.
    private var fanOuts: [String: FileDescriptor] = [:]

    init(_ directory: CacheDirectory) { self.directory = directory }

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
        guard !digests.isEmpty else { return [] }
        var rest: [Digest] = []
        var isBegun = false
        let objects = try directory.objects()
        for (name, group) in Dictionary(grouping: digests, by: CacheLayout.fanOut) {
            guard let fanOut = try fanOut(name, beneath: objects) else { continue }
            for digest in group {
                // One at least, or a disk that is slow enough would never be done.
                if isBegun, ContinuousClock.now >= deadline {
                    rest.append(digest)
                    continue
                }
                isBegun = true
                guard let status = try fanOut.status(of: digest.hex), status.isRegularFile,
                    isRemovable(status)
                else { continue }
                guard try !hasRow(digest, db) else { continue }
                guard unlinkat(fanOut.raw, digest.hex, 0) == 0 || errno == ENOENT else {
                    throw CacheError("unlink", subject: CacheLayout.path(digest), errno: errno)
                }
                onRemoved(status)
            }
        }
        return rest
    }

    /// Nil where a link or a file is in the directory's place, or nothing at all.
    private func fanOut(
        _ name: String, beneath objects: FileDescriptor
    ) throws(CacheError) -> FileDescriptor? {
        if let open = fanOuts[name] { return open }
        do throws(CacheError) {
            let fanOut = try FileDescriptor.directory(name, beneath: objects, create: false)
            fanOuts[name] = fanOut
            return fanOut
        } catch  where error.isAbsence {
            return nil
        } catch  where error.errno == EMFILE && !fanOuts.isEmpty {
            fanOuts = [:]
            return try self.fanOut(name, beneath: objects)
        }
    }

    private func hasRow(_ digest: Digest, _ db: Database) throws -> Bool {
        let select = try db.cachedStatement(sql: "SELECT 1 FROM objects WHERE digest = ?")
        return try Int.fetchOne(select, arguments: [digest.blob]) != nil
    }
}
