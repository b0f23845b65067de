import Foundation
import LarderCache

/// The directory of an export, locked against other exports. Links in the directory are not
/// followed, so nothing outside it is written.
final class ExportTree: Sendable {
    /// The directory of the layout's files: the export's directory or one in it.
    let folder: FileDescriptor
    let path: String

    private static let temporaryStart = ".larder-"
    private static let temporaryEnd = ".partial"

    /// Creates missing directories and removes partial files of killed exports. Follows links in
    /// `path` unless another user owns them. Throws `.unusable` if the directory is inside the
    /// cache or contains it, and `.locked` during another export.
    init(_ path: String, folders: [String], outside cache: Cache) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        var folder = try UsersPath(path).directory(create: true) { (nearest) throws(CacheError) in
            guard try !nearest.lies(in: cache.root) else {
                throw CacheError(.unusable, subject: path, message: "is inside the cache")
            }
        }
        for name in folders { folder = try folder.folder(name) }
        self.folder = folder
        self.path = ([path] + folders).joined(separator: "/")
        guard try !cache.root.lies(in: folder) else {
            throw CacheError(.unusable, subject: self.path, message: "contains the cache")
        }
        guard flock(folder.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw CacheError(
                .locked, subject: self.path, message: "another export is writing to it")
        }
        try folder.forEachName { (name) throws(CacheError) in
            if Self.isTemporary(name) { unlinkat(folder.raw, name, 0) }
        }
    }

    deinit { flock(folder.raw, LOCK_UN) }

    private static func isTemporary(_ name: String) -> Bool {
        let serial = name.utf8.dropFirst(temporaryStart.utf8.count).prefix(while: \.isDigit)
        return !serial.isEmpty
            && name.isSame(as: "\(temporaryStart)\(Substring(serial))\(temporaryEnd)")
    }

    static func temporary(_ serial: Int) -> String { "\(temporaryStart)\(serial)\(temporaryEnd)" }
}

#if !canImport(Darwin)
    import Glibc
#endif

extension FileDescriptor {
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
                message: "is not a directory, and links are not followed")
        }
    }

    /// Returns a file's status. Throws `.obstructed` for a directory or a name that is too long.
    func statusOfFile(_ name: String) throws(CacheError) -> stat? {
        do throws(CacheError) {
            guard let status = try status(of: name) else { return nil }
            guard !status.isDirectory else {
                throw CacheError(
                    .obstructed, subject: path(of: name),
                    message: "is a directory where the export needs a file")
            }
            return status
        } catch  where error.errno == ENAMETOOLONG {
            throw CacheError(
                .obstructed, subject: path(of: name),
                message: "the name is too long for this file system")
        }
    }

    func sizeOfFile(_ name: String) throws(CacheError) -> Int64? {
        do throws(CacheError) {
            guard let status = try status(of: name), status.isRegularFile else { return nil }
            return Int64(status.st_size)
        } catch  where error.errno == ENAMETOOLONG { return nil }
    }

    /// Whether the file is also found with the case of its ASCII letters swapped.
    func ignoresCase(of name: String) throws(CacheError) -> Bool {
        let swapped = name.utf8.map { (byte: UInt8) -> UInt8 in
            0x41...0x5A ~= byte & 0xDF ? byte ^ 0x20 : byte
        }
        return try status(of: String(decoding: swapped, as: UTF8.self)) != nil
    }

    /// Sets the access date to now and the modification date to `modified`. Returns false if
    /// another user owns the file.
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
