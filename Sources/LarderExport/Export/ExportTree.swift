import Foundation
import LarderCache

/// The directory that is exported to, locked against other exports. No link in it is followed, and
/// nothing outside it is written, even if another user owns it.
final class ExportTree: Sendable {
    /// The layout's own directory: the one that the user named, or one beneath it.
    let folder: FileDescriptor
    let path: String

    private static let temporaryStart = ".larder-"
    private static let temporaryEnd = ".partial"

    /// Makes missing directories, and removes leftovers of killed exports. Links in `path` are
    /// followed unless they are another user's. Throws `.unusable` if it or the cache lies in the
    /// other, `.locked` if another export writes it.
    init(_ path: String, folders: [String], outside cache: Cache) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        var folder = try UsersPath(path).directory(create: true) { (nearest) throws(CacheError) in
            guard try !nearest.lies(in: cache.root) else {
                throw CacheError(.unusable, subject: path, message: "lies in the cache")
            }
        }
        for name in folders { folder = try folder.folder(name) }
        self.folder = folder
        self.path = ([path] + folders).joined(separator: "/")
        guard try !cache.root.lies(in: folder) else {
            throw CacheError(.unusable, subject: self.path, message: "has the cache in it")
        }
        guard flock(folder.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw CacheError(.locked, subject: self.path, message: "another export writes into it")
        }
        // Unfinished files are of exports that have ended: this one holds their lock.
        try folder.forEachName { (name) throws(CacheError) in
            if Self.isTemporary(name) { unlinkat(folder.raw, name, 0) }
        }
    }

    deinit { flock(folder.raw, LOCK_UN) }

    static func isTemporary(_ name: String) -> Bool {
        guard name.utf8.starts(with: temporaryStart.utf8) else { return false }
        let rest = name.utf8.dropFirst(temporaryStart.utf8.count)
        let serial = rest.prefix { $0 != UInt8(ascii: ".") }
        return !serial.isEmpty && serial.allSatisfy(\.isDigit)
            && rest.dropFirst(serial.count).elementsEqual(temporaryEnd.utf8)
    }

    static func temporary(_ serial: Int) -> String { "\(temporaryStart)\(serial)\(temporaryEnd)" }

    /// Makes an unfinished file. Numbers whose names are taken are skipped.
    func newFile(
        after serial: inout Int
    ) throws(CacheError) -> (name: String, file: FileDescriptor) {
        while true {
            serial += 1
            let name = Self.temporary(serial)
            do throws(CacheError) {
                return (name, try folder.create(name))
            } catch  where error.errno == EEXIST {}
        }
    }
}

#if !canImport(Darwin)
    import Glibc
#endif

extension FileDescriptor {
    /// Calls `body` with each name in this directory, until it throws.
    func forEachEntry(_ body: (String) throws -> Void) throws {
        var failure: (any Error)?
        try forEachName { name in
            guard failure == nil else { return }
            do { try body(name) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    func folder(_ name: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try directory(name, create: true)
        } catch  where [ENOTDIR, ELOOP].contains(error.errno) {
            throw CacheError(
                .unusable, subject: path(of: name),
                message: "is not a directory; links are not followed")
        }
    }

    /// Returns the status of a file's place; nil if the place is free.
    func statusOfFile(_ name: String) throws(CacheError) -> stat? {
        do throws(CacheError) {
            guard let status = try status(of: name) else { return nil }
            guard !status.isDirectory else {
                throw CacheError(
                    .obstructed, subject: path(of: name),
                    message: "is a directory, in the place of a file")
            }
            return status
        } catch  where error.errno == ENAMETOOLONG {
            throw CacheError(
                .obstructed, subject: path(of: name),
                message: "the name is too long for this file system")
        }
    }

    /// Returns the size of a regular file; nil for anything else.
    func sizeOfFile(_ name: String) throws(CacheError) -> Int64? {
        var status = stat()
        if fstatat(raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 {
            return status.isRegularFile ? Int64(status.st_size) : nil
        }
        guard [ENOENT, ENAMETOOLONG].contains(errno) else {
            throw CacheError("stat", subject: path(of: name), errno: errno)
        }
        return nil
    }

    /// Whether both names may be those of one file here: they fold to the same, and the file system
    /// ignores case. `name` is that of an existing file, with a letter of ASCII in it.
    func mayHave(_ name: String, for other: String) throws(CacheError) -> Bool {
        guard SafeName.folded(name).isSame(as: SafeName.folded(other)) else { return false }
        if name.isSame(as: other) { return true }
        return try mindsNoCase(of: name)
    }

    /// Whether the file system finds an entry of this directory by its name in other case.
    func mindsNoCase(of name: String) throws(CacheError) -> Bool {
        let swapped = name.utf8.map { byte in
            let isLetter = 0x41...0x5A ~= byte & 0xDF
            return isLetter ? byte ^ 0x20 : byte
        }
        return try status(of: String(decoding: swapped, as: UTF8.self)) != nil
    }

    /// Sets the last modification, and the last access to now. False if it is another user's file.
    func setDates(modified: Date) throws(CacheError) -> Bool {
        let seconds = time_t(modified.timeIntervalSince1970)
        var times = [
            timespec(tv_sec: time(nil), tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0),
        ]
        if futimens(raw, &times) == 0 { return true }
        guard [EPERM, EACCES].contains(errno) else {
            throw CacheError("set times", subject: subject, errno: errno)
        }
        return false
    }
}
