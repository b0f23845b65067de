import CLarderSystem
import Foundation

/// A path that the user named, with links resolved. Other users' links are refused. Opening the
/// resolved path follows no links, because a directory's owner can create one at any time.
package struct UsersPath {
    package let named: String
    package let place: String
    private let isDangling: Bool
    private let foreignLink: (path: String, owner: uid_t, isLast: Bool)?

    package init(_ path: String) {
        let isAbsolute = path.utf8.first == UInt8(ascii: "/")
        named = isAbsolute ? path : "\(Self.workingDirectory)/\(path)"
        var rest = Self.names(in: named).reversed().map { (name: $0, isOfLink: false) }
        var place = ""
        var (links, isDangling, isMissing) = (0, false, false)
        var foreignLink: (path: String, owner: uid_t, isLast: Bool)?
        while let (name, isOfLink) = rest.popLast() {
            // If a directory is missing, the system rejects `..` after it.
            if name.utf8.elementsEqual("..".utf8), !isMissing {
                place = place.isEmpty ? "" : place.parentDirectory
                if place.utf8.elementsEqual("/".utf8) { place = "" }
                continue
            }
            let parent = place
            place += "/\(name)"
            var status = stat()
            guard place.withPath({ lstat($0, &status) }) == 0 else {
                isMissing = isMissing || errno == ENOENT
                isDangling = isDangling || isOfLink && errno == ENOENT
                continue
            }
            // On procfs, only the kernel creates links, and not all of them lead to paths.
            guard status.isLink, !isProcfs({ found in parent.withPath { statfs($0, found) } })
            else { continue }
            let target = Self.target(of: place, status)
            if foreignLink == nil, target == nil || !Ownership.isTrusted(status.st_uid) {
                foreignLink = (place, status.st_uid, rest.isEmpty)
            }
            links += 1
            guard let target, links <= 40 else { continue }
            place = target.utf8.first == UInt8(ascii: "/") ? "" : parent
            rest += Self.names(in: target).reversed().map { ($0, true) }
        }
        self.place = place.isEmpty ? "/" : place
        (self.isDangling, self.foreignLink) = (isDangling, foreignLink)
    }

    var parents: some Sequence<String> {
        sequence(first: place.parentDirectory) { $0.utf8.count > 1 ? $0.parentDirectory : nil }
    }

    private static var workingDirectory: String {
        var path = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        return getcwd(&path, path.count) == nil
            ? FileManager.default.currentDirectoryPath : String(path: path)
    }

    package static func names(in path: String) -> [String] {
        path.utf8.split(separator: UInt8(ascii: "/")).map { String(Substring($0)) }
            .filter { !$0.utf8.elementsEqual(".".utf8) }
    }

    private static func target(of path: String, _ status: stat) -> String? {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX) + 1)
        var after = stat()
        guard path.withPath({ readlink($0, &target, target.count - 1) }) > 0,
            path.withPath({ lstat($0, &after) }) == 0, FileIdentity(after) == FileIdentity(status)
        else { return nil }
        return String(path: target)
    }

    /// Throws if another user owns a link on the path. With `isLast`, checks only the last part.
    func checkLinks(isLast: Bool = false) throws(CacheError) {
        guard let foreignLink, foreignLink.isLast || !isLast else { return }
        throw CacheError(
            unusable: foreignLink.path,
            "is a link created by \(Ownership.name(of: foreignLink.owner)); larder does not follow"
                + " links of other users")
    }

    /// Opens the directory. Calls `body` with it or, if it is missing, its nearest existing parent.
    package func directory(
        create: Bool = false, checksLinks: Bool = true,
        before body: (FileDescriptor) throws(CacheError) -> Void = { _ in }
    ) throws(CacheError) -> FileDescriptor {
        if checksLinks { try checkLinks() }
        return try open(place, create: create, before: body).reopened(as: named, isUsersOwn: false)
    }

    private func open(
        _ place: String, create: Bool, before body: (FileDescriptor) throws(CacheError) -> Void
    ) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            let directory = try openPlain(place)
            try body(directory)
            return directory
        } catch  where error.errno == ENOENT && create && !isDangling && place.utf8.count > 1 {
            let parent = try open(place.parentDirectory, create: true, before: body)
            if let made = try parent.makeDirectory(place.lastName, keepsUmask: true) { return made }
            return try openPlain(place)
        }
    }

    /// Opens a directory for creating or replacing files. It need not be readable.
    package func folder() throws(CacheError) -> FileDescriptor {
        try checkLinks()
        return try openPlain(place)
    }

    private func openPlain(_ place: String) throws(CacheError) -> FileDescriptor {
        #if canImport(Darwin)
            let raw = try FileDescriptor.open(
                place, beneath: AT_FDCWD, flags: O_RDONLY | O_DIRECTORY | O_NOFOLLOW_ANY,
                subject: named)
            return FileDescriptor(taking: raw, subject: place)
        #else
            // O_PATH needs no read permission (open(2)). Glibc's module lacks this constant.
            let flags = O_DIRECTORY | 0o10000000
            var current = FileDescriptor(
                taking: try FileDescriptor.open(
                    "/", beneath: AT_FDCWD, flags: flags, subject: named), subject: "/")
            for name in Self.names(in: place) {
                let linkFlag = current.isOfProcesses ? 0 : O_NOFOLLOW
                let raw = try FileDescriptor.open(
                    name, beneath: current.raw, flags: flags | linkFlag, subject: named)
                current = FileDescriptor(taking: raw, subject: current.path(of: name))
            }
            return current
        #endif
    }

    package func file(flags: Int32, mode: mode_t) throws(CacheError) -> FileDescriptor {
        try checkLinks()
        let parent = try openPlain(place.parentDirectory)
        func openFile(_ flags: Int32) throws(CacheError) -> Int32 {
            try FileDescriptor.open(
                place.lastName, beneath: parent.raw, flags: flags, mode: mode, subject: named)
        }
        while true {
            let raw: Int32
            do throws(CacheError) {
                raw = try openFile(flags | (parent.isOfProcesses ? 0 : O_NOFOLLOW))
            } catch  where error.errno == ENOENT {
                do throws(CacheError) {
                    raw = try openFile(flags | O_CREAT | O_EXCL)
                } catch  where error.errno == EEXIST { continue }
            }
            let file = FileDescriptor(taking: raw, subject: named)
            let (own, folder) = (try file.status(), try parent.status())
            // This is the same rule as fs.protected_regular (proc(5)).
            guard
                !own.isRegularFile || Ownership.isTrusted(own.st_uid)
                    || own.st_uid == folder.st_uid || folder.st_mode & 0o022 == 0
            else {
                throw CacheError(
                    unusable: named,
                    "was created by \(Ownership.name(of: own.st_uid)) in a directory that other"
                        + " users can write to; remove the file, or choose another directory")
            }
            return file
        }
    }
}

extension FileDescriptor { fileprivate var isOfProcesses: Bool { isProcfs { fstatfs(raw, $0) } } }

/// Whether a file system is procfs: PROC_SUPER_MAGIC in linux/magic.h, not used by macOS.
private func isProcfs(_ read: (UnsafeMutablePointer<statfs>) -> Int32) -> Bool {
    var status = statfs()
    return read(&status) == 0 && UInt32(truncatingIfNeeded: status.f_type) == 0x9FA0
}
