import Foundation
import LarderCache

/// The directory that is exported to, locked against other exports. No link in it is followed, and
/// nothing outside of it is written, even if another user owns it.
final class ExportTree: Sendable {
    /// What the user named.
    let root: FileDescriptor
    /// The layout's own directory in it: that itself, or beneath it.
    let folder: FileDescriptor
    /// The path of ``folder``, for messages.
    let path: String

    private static let temporaryStart = ".larder-"
    private static let temporaryEnd = ".partial"

    /// Makes what is not there yet, and removes what killed exports have left.
    ///
    /// - Parameters:
    ///   - path: a path of the user's own; links in it are followed unless they are another user's.
    ///   - folders: the layout's directories in it, from the outermost.
    ///   - cache: what is exported.
    /// - Throws: ``CacheError``, `.unusable` if it lies in the cache, or the cache in it, `.locked`
    ///   if another export writes it.
    init(_ path: String, folders: [String], outside cache: Cache) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        root = try UsersPath(path).directory(create: true) { (nearest) throws(CacheError) in
            guard try !nearest.lies(in: cache.root) else {
                throw CacheError(.unusable, subject: path, message: "lies in the cache")
            }
        }
        var folder = root
        for name in folders { folder = try folder.folder(name) }
        self.folder = folder
        self.path = ([path] + folders).joined(separator: "/")
        guard try !cache.root.lies(in: folder) else {
            throw CacheError(.unusable, subject: self.path, message: "has the cache in it")
        }
        guard flock(folder.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw CacheError(
                .locked, subject: self.path, message: "another export writes into it")
        }
        try sweep()
    }

    deinit { flock(folder.raw, LOCK_UN) }

    /// Hands over the names in a directory.
    ///
    /// - Parameter directory: default: ``folder``.
    func forEachName(
        in directory: FileDescriptor? = nil, _ body: (String) throws -> Void
    ) throws {
        var failure: (any Error)?
        try (directory ?? folder).forEachName { name in
            guard failure == nil else { return }
            do { try body(name) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    /// Whoever held the lock before is gone, and has left what it has not renamed.
    private func sweep() throws(CacheError) {
        try folder.forEachName { (name) throws(CacheError) in
            if Self.isTemporary(name) { unlinkat(folder.raw, name, 0) }
        }
    }

    static func isTemporary(_ name: String) -> Bool {
        guard name.utf8.starts(with: temporaryStart.utf8) else { return false }
        let rest = name.utf8.dropFirst(temporaryStart.utf8.count)
        let serial = rest.prefix { $0 != UInt8(ascii: ".") }
        return !serial.isEmpty && serial.allSatisfy(\.isDigit)
            && rest.dropFirst(serial.count).elementsEqual(temporaryEnd.utf8)
    }

    /// The name of a file that is not finished; a number of its own for each.
    static func temporary(_ serial: Int) -> String { "\(temporaryStart)\(serial)\(temporaryEnd)" }

    /// Makes a file that is not finished.
    ///
    /// - Parameter serial: the last number; behind it, what is in the way is passed over: it may be
    ///   a directory, or somebody else's.
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
    /// Opens a directory in this one, made if it is not there.
    ///
    /// - Throws: ``CacheError``, `.unusable` if something else is there.
    func folder(_ name: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try directory(name, create: true)
        } catch  where [ENOTDIR, ELOOP].contains(error.errno) {
            throw CacheError(
                .unusable, subject: path(of: name),
                message: "is not a directory; links are not followed")
        }
    }

    /// What is in a file's place; nil if nothing is.
    ///
    /// - Throws: ``CacheError``, `.obstructed` if no file can be there.
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

    /// The size of a regular file; nil of anything else.
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

    /// Whether a name may be another's entry in this directory: both fold to the same, and the file
    /// system finds the entry in other letters, too. Then to remove one would remove the other.
    ///
    /// - Parameter name: of an entry that is there, with a letter of ASCII in it.
    func mayHave(_ name: String, for other: String) throws(CacheError) -> Bool {
        guard SafeName.folded(name).isSame(as: SafeName.folded(other)) else { return false }
        if name.isSame(as: other) { return true }
        return try mindsNoCase(of: name)
    }

    /// Whether the file system finds an entry of this directory in other letters, too.
    func mindsNoCase(of name: String) throws(CacheError) -> Bool {
        let swapped = name.utf8.map { byte in
            let isLetter = 0x41...0x5A ~= byte & 0xDF
            return isLetter ? byte ^ 0x20 : byte
        }
        return try status(of: String(decoding: swapped, as: UTF8.self)) != nil
    }

    /// Sets the date of last modification, and that of the last access to now.
    ///
    /// - Returns: false if it is somebody else's.
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
