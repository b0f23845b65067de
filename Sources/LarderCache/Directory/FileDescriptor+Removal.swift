import Foundation

extension FileDescriptor {
    /// Removes `name` beneath this directory, with all that is in it if it is a directory. No
    /// link is followed, and no other file system entered.
    ///
    /// - Parameter isDryRun: only looks. Default: false.
    /// - Returns: whether it is gone, and the bytes on disk that are free since.
    /// - Throws: ``CacheError`` `.storage` if the disk fails; what else cannot be removed stays.
    func removeTree(
        _ name: String, isDryRun: Bool = false
    ) throws(CacheError) -> (isGone: Bool, bytes: Int64) {
        guard let status = try status(of: name) else { return (true, 0) }
        var (isEmpty, bytes) = (true, Int64(0))
        if status.isDirectory {
            guard try self.status().st_dev == status.st_dev else { return (false, 0) }
            do throws(CacheError) {
                // Another user's, too: nothing is read or kept.
                let inner = try open(name, flags: O_RDONLY | O_DIRECTORY)
                for file in try inner.names() {
                    let removed = try inner.removeTree(file, isDryRun: isDryRun)
                    isEmpty = isEmpty && removed.isGone
                    bytes += removed.bytes
                }
            } catch {
                guard error.code != .storage else { throw error }
                return (false, bytes)
            }
        }
        guard isEmpty else { return (false, bytes) }
        if !isDryRun, unlinkat(raw, name, status.isDirectory ? AT_REMOVEDIR : 0) != 0,
            errno != ENOENT
        {
            let error = CacheError("unlink", subject: name, errno: errno)
            guard error.code != .storage else { throw error }
            return (false, bytes)
        }
        return (true, bytes + status.freeableBytes)
    }

    /// Removes what is in a directory, wherever that is by now, and then the directory itself, if
    /// it still has its name in this one.
    func remove(_ directory: FileDescriptor, named name: String) {
        for name in (try? directory.names()) ?? [] { _ = try? directory.removeTree(name) }
        // Whatever is put there meanwhile goes only if it is an empty directory.
        if (try? has(directory, as: name)) == true { unlinkat(raw, name, AT_REMOVEDIR) }
        withExtendedLifetime(directory) {}
    }
}
