import CLarderSystem
import Foundation

package enum Ownership {
    static func isTrusted(_ owner: uid_t) -> Bool { owner == geteuid() || owner == 0 }

    static func fault(of status: stat) -> String? {
        guard isTrusted(status.st_uid) else {
            return "belongs to \(name(of: status.st_uid)); run larder as that user, or choose"
                + " another directory"
        }
        guard status.st_mode & S_IWOTH == 0 else {
            return "is writable by all users, who could replace the contents (chmod o-w)"
        }
        guard status.st_mode & S_IWGRP == 0 || isTrusted(group: status.st_gid) else {
            return "is writable by \(name(ofGroup: status.st_gid)), which does not include this"
                + " user; group members could replace the contents (chmod g-w)"
        }
        return nil
    }

    static func check(_ status: stat, of subject: String) throws(CacheError) {
        if let fault = fault(of: status) { throw CacheError(unusable: subject, fault) }
    }

    private static func isTrusted(group: gid_t) -> Bool {
        if group == getegid() || group == 0 { return true }
        var groups = [gid_t](repeating: 0, count: 1 << 16)  // NGROUPS_MAX
        let count = getgroups(Int32(groups.count), &groups)
        return groups.prefix(max(0, Int(count))).contains(group)
    }

    static func name(of user: uid_t) -> String {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { room in
            let result = getpwuid_r(user, &entry, room.baseAddress!, room.count, &found)
            let isKnown = result == 0 && found != nil && entry.pw_name != nil
            return "the user " + (isKnown ? String(cString: entry.pw_name) : "\(user)")
        }
    }

    private static func name(ofGroup group: gid_t) -> String {
        var entry = Foundation.group()
        var found: UnsafeMutablePointer<Foundation.group>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16 * 1024) { room in
            let result = getgrgid_r(group, &entry, room.baseAddress!, room.count, &found)
            let isKnown = result == 0 && found != nil && entry.gr_name != nil
            return "the group " + (isKnown ? String(cString: entry.gr_name) : "\(group)")
        }
    }
}

/// Checks for a cache's root. A read-only root may have any owner, because digests protect objects.
enum CacheRoot {
    /// Opens the root, and returns whether it is writable. Throws `.unusable` if another user could
    /// change it or owns a link on the path, or if a new cache would be inside another.
    static func open(_ path: String, create: Bool) throws(CacheError) -> (FileDescriptor, Bool) {
        let place = UsersPath(path)
        try place.checkLinks(isLast: !create)
        if create, !isTagged(path), let outer = place.parents.first(where: isTagged) {
            throw CacheError(
                unusable: path, "is inside the cache \(outer); choose another directory")
        }
        let root: FileDescriptor
        do throws(CacheError) {
            root = try place.directory(create: create, checksLinks: false)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "no cache here")
        }
        guard faccessat(root.raw, ".", W_OK, 0) == 0 else {
            return (try root.reopened(as: path), false)
        }
        try place.checkLinks()
        try Ownership.check(root.status(), of: path)
        return (try root.reopened(as: path, isGuarded: true), true)
    }

    private static func isTagged(_ path: String) -> Bool {
        let tag = Array(CacheLayout.tagContents.utf8)
        guard let directory = try? FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY),
            let status = try? directory.status(), Ownership.fault(of: status) == nil
        else { return false }
        return (try? directory.file(CacheLayout.tag).read(atMost: tag.count)) == tag
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

    static func confirm(_ root: FileDescriptor, isAt path: String) throws(CacheError) {
        var status = stat()
        let own = try root.status()
        guard path.withPath({ stat($0, &status) }) == 0, status.isSameFile(as: own) else {
            throw CacheError(unusable: path, "was moved or replaced while larder opened it")
        }
    }
}

/// Network file systems, on which `flock` and shared memory are unreliable.
enum NetworkFileSystem {
    static func refuse(_ root: FileDescriptor) throws(CacheError) {
        var status = statfs()
        guard fstatfs(root.raw, &status) == 0 else { return }
        #if canImport(Darwin)
            let name = status.f_flags & UInt32(MNT_LOCAL) == 0 ? "remote volume" : nil
        #else
            let type = UInt32(truncatingIfNeeded: status.f_type)
            let name = names.first { $0.key == type }?.value
        #endif
        guard let name else { return }
        throw CacheError(
            unusable: root.subject,
            "is on a network file system (\(name)), whose locks are not reliable; choose a local"
                + " directory")
    }

    /// The magic numbers from statfs(2) and linux/magic.h.
    private static let names: KeyValuePairs<UInt32, String> = [
        0x6969: "NFS", 0x517B: "SMB", 0xFE53_4D42: "SMB2", 0xFF53_4D42: "CIFS",
        0x00C3_6400: "Ceph", 0x5346_414F: "AFS", 0x6B41_4653: "AFS", 0x7375_7245: "Coda",
        0x0102_1997: "9P", 0x564C: "NCP", 0x0BD0_0BD0: "Lustre", 0x4750_4653: "GPFS",
    ]
}
