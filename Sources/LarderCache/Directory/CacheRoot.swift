import Foundation

/// Opens a cache's root, and refuses one that somebody else could bend to their ends.
///
/// Everything beneath is reached through the descriptor and without following links; what leads to
/// the root is the user's own path, and may. Where nothing can be written anyway, as on a read-only
/// medium, it does not matter who owns it: objects are checked against their digests.
enum CacheRoot {
    /// - Throws: ``CacheError`` `.missing` if there is nothing, `.unusable` if it is not a
    ///   directory, a link that another user has made, another user's, or open to all or to a group
    ///   of others.
    static func open(
        _ path: String
    ) throws(CacheError) -> (root: FileDescriptor, isWritable: Bool) {
        let root: FileDescriptor
        do throws(CacheError) {
            // Who may put a link in the root's place may choose what is written to: the user, or
            // root.
            var flags = O_RDONLY | O_DIRECTORY
            if let owner = linkOwner(path) {
                guard isTrusted(owner) else {
                    throw refusal(path, "is a link that \(name(of: owner)) has made")
                }
            } else {
                flags |= O_NOFOLLOW
            }
            root = try FileDescriptor.open(path, flags: flags)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no cache here")
        }
        let isWritable = faccessat(root.raw, ".", W_OK, 0) == 0
        let status = try root.status()
        guard isWritable else { return (root, false) }
        guard isTrusted(status.st_uid) else {
            throw refusal(
                path,
                "belongs to \(name(of: status.st_uid)); run larder as that user, or use another")
        }
        guard status.st_mode & S_IWOTH == 0 || status.st_mode & S_ISVTX != 0 else {
            throw refusal(
                path, "can be written by everybody, who could replace what is in it (chmod o-w)")
        }
        guard
            status.st_mode & S_IWGRP == 0 || status.st_mode & S_ISVTX != 0
                || isTrusted(group: status.st_gid)
        else {
            throw refusal(
                path,
                """
                can be written by \(name(ofGroup: status.st_gid)), in which this user is not and \
                who could replace what is in it (chmod g-w)
                """)
        }
        return (root, true)
    }

    /// Makes sure that a path which was opened by its name, as SQLite does, led into the root.
    ///
    /// - Throws: ``CacheError`` `.unusable` if the root has another place by now.
    static func confirm(_ root: FileDescriptor, isAt path: String) throws(CacheError) {
        var status = stat()
        let own = try root.status()
        guard stat(path, &status) == 0, status.st_ino == own.st_ino, status.st_dev == own.st_dev
        else { throw refusal(path, "was moved or replaced while it was opened") }
    }

    private static func linkOwner(_ path: String) -> uid_t? {
        var status = stat()
        return lstat(path, &status) == 0 && status.isLink ? status.st_uid : nil
    }

    private static func isTrusted(_ owner: uid_t) -> Bool { owner == geteuid() || owner == 0 }

    /// Those that the user is in; root's own is root's.
    private static func isTrusted(group: gid_t) -> Bool {
        if group == getegid() || group == 0 { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        let found = getgroups(count, &groups)
        return groups.prefix(max(0, Int(found))).contains(group)
    }

    private static func refusal(_ path: String, _ message: String) -> CacheError {
        CacheError(.unusable, subject: path, message: message)
    }

    /// The user's name, or the number if it has none.
    private static func name(of user: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { room in
            let result = getpwuid_r(user, &entry, room.baseAddress!, room.count, &found)
            guard result == 0, found != nil, let name = entry.pw_name else {
                return "the user \(user)"
            }
            return "the user \(String(cString: name))"
        }
    }

    /// The group's name, or the number if it has none, or more members than fit.
    private static func name(ofGroup group: gid_t) -> String {
        var entry = Foundation.group()
        var found: UnsafeMutablePointer<Foundation.group>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { room in
            let result = getgrgid_r(group, &entry, room.baseAddress!, room.count, &found)
            guard result == 0, found != nil, let name = entry.gr_name else {
                return "the group \(group)"
            }
            return "the group \(String(cString: name))"
        }
    }
}
