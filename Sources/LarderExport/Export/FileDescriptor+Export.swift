import Foundation
import LarderCache

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
