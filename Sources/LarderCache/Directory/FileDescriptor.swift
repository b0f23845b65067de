import Foundation

/// An open file or directory, closed with its last reference.
///
/// Every path component is opened relative to its parent and without following links, so nothing
/// outside the cache root can be reached through one.
final class FileDescriptor: Sendable {
    let raw: Int32
    /// Its path beneath what was opened by a path of the user's own, for messages; empty for that
    /// itself.
    let path: String

    private init(owning raw: Int32, path: String) {
        self.raw = raw
        self.path = path
    }

    deinit { close(raw) }

    /// Gives up a lock (flock(2)) at once. Closing does not, while a process that is just being
    /// started has a copy of the descriptor.
    func unlock() { flock(raw, LOCK_UN) }

    /// Opens `name` beneath `parent`, or a path of the user's own if there is no parent.
    static func open(
        _ name: String, beneath parent: FileDescriptor? = nil, flags: Int32, mode: mode_t = 0
    ) throws(CacheError) -> FileDescriptor {
        let flags = flags | O_CLOEXEC | (parent == nil ? 0 : O_NOFOLLOW)
        while true {
            let raw = openat(parent?.raw ?? AT_FDCWD, name, flags, mode)
            if raw >= 0 {
                return FileDescriptor(owning: raw, path: parent?.path(of: name) ?? "")
            }
            guard errno == EINTR else {
                throw CacheError("open", subject: parent?.path(of: name) ?? name, errno: errno)
            }
        }
    }

    /// The path of something in this directory, for messages.
    func path(of name: String) -> String { path.isEmpty ? name : "\(path)/\(name)" }

    /// Opens the directory `name`, made first where it is not there and `create` is set.
    static func directory(
        _ name: String, beneath parent: FileDescriptor, create: Bool
    ) throws(CacheError) -> FileDescriptor {
        if create { try ensureDirectory(name, beneath: parent) }
        return try open(name, beneath: parent, flags: O_RDONLY | O_DIRECTORY)
    }

    /// Makes the directory `name` where nothing is.
    static func ensureDirectory(
        _ name: String, beneath parent: FileDescriptor
    ) throws(CacheError) {
        if let number = makeDirectory(name, beneath: parent), number != EEXIST {
            throw CacheError("mkdir", subject: parent.path(of: name), errno: number)
        }
    }

    /// Makes the directory `name` beneath `parent`, or at a path of the user's own where there is
    /// no parent. Its owner can write it whatever the umask: else not even `rm -rf` would work.
    ///
    /// - Returns: nil, or the error number; EEXIST where something is there already.
    static func makeDirectory(
        _ name: String, beneath parent: FileDescriptor? = nil,
        mode: mode_t = CacheLayout.directoryMode
    ) -> Int32? {
        let parent = parent?.raw ?? AT_FDCWD
        guard mkdirat(parent, name, mode) == 0 else { return errno }
        var status = stat()
        if fstatat(parent, name, &status, AT_SYMLINK_NOFOLLOW) == 0,
            status.st_mode & 0o700 != 0o700,
            fchmodat(parent, name, status.st_mode & 0o7777 | 0o700, AT_SYMLINK_NOFOLLOW) != 0
        {
            return errno
        }
        return nil
    }

    /// Writes all of `bytes`, continuing after short writes.
    func write(_ bytes: UnsafeRawBufferPointer, subject: String) throws(CacheError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = Foundation.write(raw, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno != EINTR {
                throw CacheError("write", subject: subject, errno: errno)
            }
        }
    }

    /// Fills as much of `buffer` as there are bytes; returns the count, 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, subject: String) throws(CacheError) -> Int
    {
        while true {
            let count = Foundation.read(raw, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw CacheError("read", subject: subject, errno: errno) }
        }
    }

    /// The status of this file.
    func status(subject: String) throws(CacheError) -> stat {
        var status = stat()
        guard fstat(raw, &status) == 0 else {
            throw CacheError("stat", subject: subject, errno: errno)
        }
        return status
    }

    /// The status of `name` beneath this directory, a link not followed; nil if it is not there.
    func status(of name: String) throws(CacheError) -> stat? {
        var status = stat()
        if fstatat(raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT || errno == ENOTDIR else {
            throw CacheError("stat", subject: path(of: name), errno: errno)
        }
        return nil
    }

    /// The names in this directory, `.` and `..` left out, in no order.
    func names(subject: String) throws(CacheError) -> [String] {
        // A second descriptor of its own: reading moves the position that dup(2) would share.
        let copy = openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else {
            let code = errno
            if copy >= 0 { close(copy) }
            throw CacheError("list", subject: subject, errno: code)
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw CacheError("list", subject: subject, errno: errno) }
                return names
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
    }
}

extension stat {
    var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    /// What the file takes on disk: st_blocks counts 512 bytes on every system (stat(2)).
    var allocatedBytes: Int64 { Int64(st_blocks) * 512 }
    var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    var isLink: Bool { st_mode & S_IFMT == S_IFLNK }
}
