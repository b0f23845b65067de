import Foundation

/// Opens a cache's root, and refuses one that another user could use to harm this one.
///
/// Everything in the cache is reached through the descriptor and without following links. If
/// nothing can be written anyway, as on a read-only medium, the owner does not matter: objects are
/// checked against their digests.
enum CacheRoot {
    /// - Parameter create: Whether it is made, with what leads to it, if it does not exist.
    /// - Throws: ``CacheError`` `.missing` if it does not exist, `.unusable` if it is not a
    ///   directory, belongs to another user, can be written by everybody or by a foreign group, or
    ///   if the path leads through another user's link.
    static func open(
        _ path: String, create: Bool
    ) throws(CacheError) -> (root: FileDescriptor, isWritable: Bool) {
        let place = UsersPath(path)
        try place.checkLinks(isLast: !create)
        let root: FileDescriptor
        do throws(CacheError) {
            root = try place.open(create: create)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no cache here")
        }
        let isWritable = faccessat(root.raw, ".", W_OK, 0) == 0
        guard isWritable else { return (root, false) }
        try place.checkLinks()
        try Ownership.check(root.status(), of: path)
        return (try root.reopened(as: path, isGuarded: true), true)
    }

    /// Makes sure that no other user can change what larder uses beneath a root.
    static func checkLevels(of root: FileDescriptor) throws(CacheError) {
        for path in CacheLayout.directories {
            var directory = root
            do throws(CacheError) {
                for name in path { directory = try directory.directory(name) }
            } catch  where error.isOutOfReach {
                // Not there, or something else is in its place.
            }
        }
        for name in CacheLayout.databaseFiles + [CacheLayout.snapshot] {
            guard let status = try root.status(of: name), status.isRegularFile else { continue }
            try Ownership.check(status, of: "\(root.subject)/\(name)")
        }
    }

    /// Makes sure that a path which was opened by its name, as SQLite does, led into the root.
    ///
    /// - Throws: ``CacheError`` `.unusable` if the root has another place by now.
    static func confirm(_ root: FileDescriptor, isAt path: String) throws(CacheError) {
        var status = stat()
        let own = try root.status()
        guard path.withPath({ stat($0, &status) }) == 0, status.st_ino == own.st_ino,
            status.st_dev == own.st_dev
        else {
            throw CacheError(
                .unusable, subject: path, message: "was moved or replaced while it was opened")
        }
    }
}
