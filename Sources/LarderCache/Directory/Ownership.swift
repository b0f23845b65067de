import CLarderSystem
import Foundation

/// Who can change a file or directory, besides this user and root.
package enum Ownership {
    static func isTrusted(_ owner: uid_t) -> Bool { owner == geteuid() || owner == 0 }

    /// Why another user could change it; nil if none can. The sticky bit lets everybody make files.
    static func fault(of status: stat) -> String? {
        guard isTrusted(status.st_uid) else {
            return "belongs to \(name(of: status.st_uid)); run larder as that user, or use another"
        }
        guard status.st_mode & S_IWOTH == 0 else {
            return "can be written by everybody, who could replace what is in it (chmod o-w)"
        }
        guard status.st_mode & S_IWGRP == 0 || isTrusted(group: status.st_gid) else {
            return
                "can be written by \(name(ofGroup: status.st_gid)), in which this user is not and"
                + " who could replace what is in it (chmod g-w)"
        }
        return nil
    }

    static func check(_ status: stat, of subject: String) throws(CacheError) {
        if let fault = fault(of: status) {
            throw CacheError(.unusable, subject: subject, message: fault)
        }
    }

    private static func isTrusted(group: gid_t) -> Bool {
        if group == getegid() || group == 0 { return true }
        let count = getgroups(0, nil)
        guard count > 0 else { return false }
        var groups = [gid_t](repeating: 0, count: Int(count))
        let found = getgroups(count, &groups)
        return groups.prefix(max(0, Int(found))).contains(group)
    }

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

/// Opens a cache's root, and refuses one that another user could use to harm this one. On a
/// read-only medium the owner does not matter, because objects are checked against their digests.
enum CacheRoot {
    /// Throws `.unusable` if another user could change the directory, or made a link on the path.
    static func open(
        _ path: String, create: Bool
    ) throws(CacheError) -> (root: FileDescriptor, isWritable: Bool) {
        let place = UsersPath(path)
        try place.checkLinks(isLast: !create)
        let root: FileDescriptor
        do throws(CacheError) {
            root = try place.directory(create: create, checksLinks: false)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no cache here")
        }
        let isWritable = faccessat(root.raw, ".", W_OK, 0) == 0
        guard isWritable else { return (root, false) }
        try place.checkLinks()
        try Ownership.check(root.status(), of: path)
        return (try root.reopened(as: path, isGuarded: true), true)
    }

    static func checkLevels(of root: FileDescriptor) throws(CacheError) {
        for path in CacheLayout.directories {
            var directory = root
            do throws(CacheError) {
                for name in path { directory = try directory.directory(name) }
            } catch  where error.isOutOfReach {}
        }
        for name in CacheLayout.databaseFiles + [CacheLayout.snapshot] {
            guard let status = try root.status(of: name), status.isRegularFile else { continue }
            try Ownership.check(status, of: "\(root.subject)/\(name)")
        }
    }

    /// Throws `.unusable` if a path that SQLite opened by name leads elsewhere by now.
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

/// File systems on which neither `flock` nor SQLite's shared memory can be relied on.
enum NetworkFileSystem {
    static func name(of file: FileDescriptor) -> String? {
        var status = statfs()
        guard fstatfs(file.raw, &status) == 0 else { return nil }
        #if canImport(Darwin)
            return status.f_flags & UInt32(MNT_LOCAL) == 0 ? "remote volume" : nil
        #else
            return names[UInt32(truncatingIfNeeded: status.f_type)]
        #endif
    }

    /// The magic numbers of statfs(2) and linux/magic.h.
    private static let names: [UInt32: String] = [
        0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB2", 0xFF53_4D42: "CIFS",
        0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x0102_1997: "9P", 0x564C: "NCP", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
    ]
}
