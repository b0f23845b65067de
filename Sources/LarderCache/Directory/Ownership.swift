import Foundation

/// Who can change a file or directory, besides this user and root.
package enum Ownership {
    /// Whether it belongs to this user or root.
    static func isTrusted(_ owner: uid_t) -> Bool { owner == geteuid() || owner == 0 }

    /// Why another user could change it, in words; nil if none can. The sticky bit does not help:
    /// it lets everybody make files.
    static func fault(of status: stat) -> String? {
        guard isTrusted(status.st_uid) else {
            return "belongs to \(name(of: status.st_uid)); run larder as that user, or use another"
        }
        guard status.st_mode & S_IWOTH == 0 else {
            return "can be written by everybody, who could replace what is in it (chmod o-w)"
        }
        guard status.st_mode & S_IWGRP == 0 || isTrusted(group: status.st_gid) else {
            return """
                can be written by \(name(ofGroup: status.st_gid)), in which this user is not and \
                who could replace what is in it (chmod g-w)
                """
        }
        return nil
    }

    /// - Throws: ``CacheError`` `.unusable` if another user could change it.
    static func check(_ status: stat, of subject: String) throws(CacheError) {
        if let fault = fault(of: status) {
            throw CacheError(.unusable, subject: subject, message: fault)
        }
    }

    /// Those that the user is in; root's own is root's.
    private static func isTrusted(group: gid_t) -> Bool {
        if group == getegid() || group == 0 { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        let found = getgroups(count, &groups)
        return groups.prefix(max(0, Int(found))).contains(group)
    }

    /// The user's name, or the number if it has none.
    static func name(of user: uid_t) -> String {
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
