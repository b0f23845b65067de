import Foundation
import GRDB

extension CacheDirectory {
    /// The lock on the root: `shared` to use the index, `exclusive` to replace it.
    enum Lock { case none, shared, exclusive }

    /// Opens the directory. Refuses directories that have another purpose, that other users could
    /// change, or that are on a network file system.
    convenience init(
        path: String, create: Bool, lock: Lock = .shared, wait: LockWait = .none,
        log: CacheLog = .none
    ) throws(CacheError) {
        try self.init(opening: path, create: create, wait: wait, log: log)
        let (path, wait) = (self.path, self.wait)
        guard try isCache() || create else {
            throw CacheError(.missing, subject: path, message: "no cache here")
        }
        if create {
            guard faccessat(root.raw, ".", W_OK, 0) == 0 else {
                throw CacheError("write", subject: path, errno: errno)
            }
            try layOut()
        }
        // The lock is never upgraded, because two upgrading processes would deadlock.
        if lock != .none {
            try wait.take(lock == .shared ? LOCK_SH : LOCK_EX, on: root, subject: path) {
                "another process is \(lock == .shared ? "rebuilding the index" : "using the cache")"
            }
        }
        for name in CacheLayout.databaseFiles {
            // SQLite follows links. A second hard link may belong to a backup.
            guard let status = try root.status(of: name) else { continue }
            let subject = "\(path)/\(name)"
            guard status.isRegularFile else {
                throw CacheError(unusable: subject, "is not a regular file")
            }
            guard status.st_nlink < 2 || !isWritable else {
                throw CacheError(
                    unusable: subject, "has several hard links; replace it with a copy")
            }
        }
    }

    /// Whether the directory is a cache or empty. Throws if files of another program are at risk.
    func isCache() throws(CacheError) -> Bool {
        if try isMarked() { return true }
        for name in CacheLayout.databaseFiles + [CacheLayout.temporary] {
            guard let status = try root.status(of: name) else { continue }
            // A process killed during creation leaves an empty `tmp/`.
            if status.isDirectory, try root.directory(name).names().isEmpty { continue }
            // Another process may have just created a cache.
            if try isMarked() { return true }
            throw CacheError(
                unusable: path, "is not a cache, but contains \(name); choose another directory")
        }
        let own = CacheLayout.ownNames.union(CacheLayout.databaseFiles)
        return try root.names().allSatisfy(own.contains)
    }

    private func isMarked() throws(CacheError) -> Bool {
        do throws(CacheError) {
            let objects = try root.directory(CacheLayout.objects)
            if try objects.status(of: CacheLayout.algorithm) != nil { return true }
        } catch  where error.isOutOfReach {}
        if try root.status(of: CacheLayout.snapshot) != nil { return true }
        let tag = Array(CacheLayout.tagContents.utf8)
        do throws(CacheError) {
            if try root.file(CacheLayout.tag).read(atMost: tag.count) == tag { return true }
        } catch  where error.isOutOfReach {}
        // A pipe would block SQLite forever.
        guard try root.status(of: CacheLayout.index)?.isRegularFile == true else { return false }
        let tables = try? DatabaseFile(CacheLayout.index, in: self).open(.alone).unsafeRead {
            try $0.tableExists("objects") && $0.tableExists("resources")
        }
        return tables ?? false
    }
}
