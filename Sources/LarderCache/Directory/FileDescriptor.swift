import Foundation

/// An open file or directory. Files in a directory are opened without following links, so that no
/// path leads out of the cache.
package final class FileDescriptor: Sendable {
    package let raw: Int32
    /// The file's name in messages: a path that the user named, or a path relative to it.
    package let subject: String
    private let isUsersOwn: Bool
    let isGuarded: Bool

    init(taking raw: Int32, subject: String, isUsersOwn: Bool = false, isGuarded: Bool = false) {
        (self.raw, self.subject) = (raw, subject)
        (self.isUsersOwn, self.isGuarded) = (isUsersOwn, isGuarded)
    }

    deinit { close(raw) }

    package static func open(_ path: String, flags: Int32) throws(CacheError) -> FileDescriptor {
        let raw = try open(path, beneath: AT_FDCWD, flags: flags, subject: path)
        return FileDescriptor(taking: raw, subject: path, isUsersOwn: true)
    }

    package func open(
        _ name: String, flags: Int32, mode: mode_t = 0
    ) throws(CacheError) -> FileDescriptor {
        let subject = path(of: name)
        let raw = try Self.open(
            name, beneath: raw, flags: flags | O_NOFOLLOW, mode: mode, subject: subject)
        return FileDescriptor(taking: raw, subject: subject, isGuarded: isGuarded)
    }

    static func open(
        _ name: String, beneath parent: Int32, flags: Int32, mode: mode_t = 0, subject: String
    ) throws(CacheError) -> Int32 {
        while true {
            let raw = name.withPath { openat(parent, $0, flags | O_CLOEXEC, mode) }
            if raw >= 0 { return raw }
            guard errno == EINTR else { throw CacheError("open", subject: subject, errno: errno) }
        }
    }

    package func file(_ name: String) throws(CacheError) -> FileDescriptor {
        try open(name, flags: O_RDONLY | O_NONBLOCK)
    }

    package func directory(
        _ name: String, create: Bool = false
    ) throws(CacheError) -> FileDescriptor {
        if create, let made = try makeDirectory(name) { return made }
        let directory = try open(name, flags: O_RDONLY | O_DIRECTORY)
        if isGuarded { try Ownership.check(directory.status(), of: directory.subject) }
        return directory
    }

    func duplicate() throws(CacheError) -> Int32 {
        let copy = fcntl(raw, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw failure("open") }
        return copy
    }

    func failure(_ call: String, of name: String? = nil) -> CacheError {
        CacheError(call, subject: name.map(path(of:)) ?? subject, errno: errno)
    }

    package func path(of name: String) -> String { isUsersOwn ? name : "\(subject)/\(name)" }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
        var rest = bytes
        while !rest.isEmpty {
            let written = Foundation.write(raw, rest.baseAddress, rest.count)
            if written >= 0 {
                rest = UnsafeRawBufferPointer(rebasing: rest[written...])
            } else if errno != EINTR {
                throw failure("write")
            }
        }
    }

    package func write(_ bytes: [UInt8]) throws(CacheError) {
        try bytes.withUnsafeBufferPointer { (bytes) throws(CacheError) in
            try write(UnsafeRawBufferPointer(bytes))
        }
    }

    package func read(into buffer: UnsafeMutableRawBufferPointer) throws(CacheError) -> Int {
        while true {
            let count = Foundation.read(raw, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            guard errno == EINTR else { throw failure("read") }
        }
    }

    /// Reads up to `limit` bytes. Without `offset`, reads only once, at the file position.
    package func read(at offset: Int64? = nil, atMost limit: Int) throws(CacheError) -> [UInt8] {
        var result = Result<Void, CacheError>.success(())
        let bytes = [UInt8](unsafeUninitializedCapacity: limit) { buffer, count in
            let room = UnsafeMutableRawBufferPointer(buffer)
            result = Result { () throws(CacheError) in
                count =
                    if let offset { try read(at: offset, into: room) } else { try read(into: room) }
            }
        }
        try result.get()
        return bytes
    }

    package func read(
        at offset: Int64, into buffer: UnsafeMutableRawBufferPointer
    ) throws(CacheError) -> Int {
        var filled = 0
        while filled < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = pread(raw, rest.baseAddress, rest.count, off_t(offset) + filled)
            if count == 0 { break }
            if count < 0, errno != EINTR { throw failure("read") }
            filled += max(0, count)
        }
        return filled
    }

    package func status() throws(CacheError) -> stat {
        var status = stat()
        guard fstat(raw, &status) == 0 else { throw failure("stat") }
        return status
    }

    package func status(of name: String) throws(CacheError) -> stat? {
        var status = stat()
        if fstatat(raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 { return status }
        guard errno == ENOENT || errno == ENOTDIR else { throw failure("stat", of: name) }
        return nil
    }

    package func rename(
        _ name: String, to directory: FileDescriptor, as newName: String
    ) throws(CacheError) {
        guard renameat(raw, name, directory.raw, newName) == 0 else {
            throw directory.failure("rename", of: newName)
        }
    }

    func removeFile(_ name: String) throws(CacheError) {
        guard unlinkat(raw, name, 0) == 0 else { throw failure("unlink", of: name) }
    }

    func removeIfRegular(_ name: String) {
        if (try? status(of: name))?.isRegularFile == true { unlinkat(raw, name, 0) }
    }

    package func names() throws(CacheError) -> [String] {
        var names: [String] = []
        try forEachName { names.append($0) }
        return names
    }

    package func forEachName(_ body: (String) throws(CacheError) -> Void) throws(CacheError) {
        // Opens the directory again, because dup(2) would share the file position.
        let copy = openat(raw, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard copy >= 0, let stream = fdopendir(copy) else {
            let code = errno
            if copy >= 0 { close(copy) }
            throw CacheError("list", subject: subject, errno: code)
        }
        defer { closedir(stream) }
        while true {
            errno = 0
            guard let entry = readdir(stream) else {
                guard errno == 0 else { throw failure("list") }
                return
            }
            let name = withUnsafePointer(to: &entry.pointee.d_name) {
                $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { try body(name) }
        }
    }

    package func lies(in root: FileDescriptor) throws(CacheError) -> Bool {
        let root = try root.status()
        var current = self
        while try !current.status().isSameFile(as: root) {
            let raw = try Self.open(
                "..", beneath: current.raw, flags: O_RDONLY | O_DIRECTORY, subject: subject)
            let parent = FileDescriptor(taking: raw, subject: subject)
            // The search ends at `/`, which is its own parent.
            if try parent.status().isSameFile(as: current.status()) { return false }
            current = parent
        }
        return true
    }

    /// The path for SQLite, valid while the descriptor is open. Nil on macOS or without procfs.
    var pathForSQLite: String? {
        #if os(Linux)
            let path = "/proc/self/fd/\(raw)"
            var found = stat()
            guard stat(path, &found) == 0, (try? status())?.isSameFile(as: found) == true
            else { return nil }
            return path
        #else
            return nil
        #endif
    }

    /// Creates a locked directory. The lock prevents other processes from sweeping it.
    func makeLockedDirectory(
        _ operation: Int32, mode: mode_t = CacheLayout.directoryMode, named newName: () -> String
    ) throws(CacheError) -> (name: String, directory: FileDescriptor) {
        for _ in 0..<100 {
            let name = newName()
            guard let directory = try makeDirectory(name, mode: mode) else {
                throw CacheError("mkdir", subject: path(of: name), errno: EEXIST)
            }
            if flock(directory.raw, operation | LOCK_NB) == 0 {
                if try has(directory, as: name) { return (name, directory) }
            } else if errno != EWOULDBLOCK {
                throw directory.failure("lock")
            }
            // Another process swept the directory before it was locked.
        }
        throw CacheError(
            unusable: subject,
            "another process keeps removing the directories that larder creates here")
    }

    func lockAbandoned(_ name: String) -> FileDescriptor? {
        guard let directory = try? directory(name), flock(directory.raw, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        return directory
    }

    /// Releases the lock, even if a new child process shares the descriptor.
    func unlock() { flock(raw, LOCK_UN) }

    /// Creates a directory, or returns nil if `name` exists. With `keepsUmask`, the umask applies
    /// to all permissions except the owner's, so that the owner can remove the directory.
    func makeDirectory(
        _ name: String, mode: mode_t = CacheLayout.directoryMode, keepsUmask: Bool = false
    ) throws(CacheError) -> FileDescriptor? {
        while true {
            guard name.withPath({ mkdirat(raw, $0, mode) }) == 0 else {
                if errno == EEXIST { return nil }
                throw failure("mkdir", of: name)
            }
            do throws(CacheError) {
                return try openMade(name, mode: mode, keepsUmask: keepsUmask)
            } catch  where error.errno == ENOENT {
                // Another process has swept the directory.
            } catch {
                _ = name.withPath { unlinkat(raw, $0, AT_REMOVEDIR) }
                throw error
            }
        }
    }

    private func openMade(
        _ name: String, mode: mode_t, keepsUmask: Bool
    ) throws(CacheError) -> FileDescriptor {
        let made: FileDescriptor
        do throws(CacheError) {
            made = try open(name, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == EACCES {
            // The umask denies access. Another user must not be able to replace the directory.
            guard Ownership.fault(of: try status()) == nil,
                name.withPath({ fchmodat(raw, $0, mode, AT_SYMLINK_NOFOLLOW) }) == 0
            else { throw error }
            made = try open(name, flags: O_RDONLY | O_DIRECTORY)
        }
        let status = try made.status()
        guard status.st_uid == geteuid() else {
            throw CacheError(unusable: path(of: name), "was replaced while larder created it")
        }
        let permissions = keepsUmask ? status.st_mode & 0o777 | 0o700 : mode
        if status.st_mode & 0o777 != permissions {
            try made.setMode(status.st_mode & 0o7000 | permissions)
        }
        return made
    }

    package func create(_ name: String, mode: mode_t = 0o644) throws(CacheError) -> FileDescriptor {
        let file = try open(name, flags: O_RDWR | O_CREAT | O_EXCL, mode: mode)
        try file.setMode(mode)
        return file
    }

    func createOrOpen(_ name: String, mode: mode_t = 0o644) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try create(name, mode: mode)
        } catch  where error.errno == EEXIST {}
        // Without O_NONBLOCK, opening a pipe would block.
        let file = try open(name, flags: O_RDWR | O_NONBLOCK)
        var status = try file.status()
        guard status.isRegularFile, status.st_nlink == 1 else {
            throw CacheError(
                unusable: file.subject, "is not a regular file, or has several hard links")
        }
        // Larder 0.2 created some files with mode 0666, less the umask.
        if status.st_uid == geteuid(), status.st_mode & 0o022 != 0 {
            try file.setMode(status.st_mode & 0o755)
            status = try file.status()
        }
        try Ownership.check(status, of: file.subject)
        return file
    }

    package func setMode(_ mode: mode_t) throws(CacheError) {
        guard fchmod(raw, mode) == 0 else { throw failure("chmod") }
    }

    func reopened(
        as path: String, isUsersOwn: Bool = true, isGuarded: Bool = false
    ) throws(CacheError) -> FileDescriptor {
        let raw = try Self.open(".", beneath: raw, flags: O_RDONLY | O_DIRECTORY, subject: path)
        return FileDescriptor(
            taking: raw, subject: path, isUsersOwn: isUsersOwn, isGuarded: isGuarded)
    }

    package func has(_ file: FileDescriptor, as name: String) throws(CacheError) -> Bool {
        try status(of: name)?.isSameFile(as: file.status()) ?? false
    }

    /// Removes a directory tree. Returns whether all of it is gone, and the freed bytes. Does not
    /// follow links or enter other file systems. Throws only if the disk fails.
    func removeTree(
        _ name: String, isDryRun: Bool = false
    ) throws(CacheError) -> (isGone: Bool, bytes: Int64) {
        guard let status = try status(of: name) else { return (true, 0) }
        if status.isDirectory, try self.status().st_dev != status.st_dev { return (false, 0) }
        var (isEmpty, bytes) = (true, Int64(0))
        do throws(CacheError) {
            if status.isDirectory {
                // A directory of another user is allowed, because none of its files is read.
                let inner = try open(name, flags: O_RDONLY | O_DIRECTORY)
                for file in try inner.names() {
                    let removed = try inner.removeTree(file, isDryRun: isDryRun)
                    isEmpty = isEmpty && removed.isGone
                    bytes += removed.bytes
                }
            }
            guard isEmpty else { return (false, bytes) }
            if !isDryRun, unlinkat(raw, name, status.isDirectory ? AT_REMOVEDIR : 0) != 0,
                errno != ENOENT
            {
                throw CacheError("unlink", subject: name, errno: errno)
            }
        } catch  where error.code != .storage { return (false, bytes) }
        return (true, bytes + status.freeableBytes)
    }

    func remove(_ directory: FileDescriptor, named name: String) {
        for name in (try? directory.names()) ?? [] { _ = try? directory.removeTree(name) }
        // If the directory is replaced after this check, at most an empty directory is removed.
        if (try? has(directory, as: name)) == true { unlinkat(raw, name, AT_REMOVEDIR) }
        withExtendedLifetime(directory) {}
    }

    package static func unnamed() throws(CacheError) -> FileDescriptor {
        var path = Array((NSTemporaryDirectory() + "larder-XXXXXX").utf8CString)
        let raw = mkstemp(&path)
        guard raw >= 0 else {
            var error = CacheError(
                "make a temporary file", subject: NSTemporaryDirectory(), errno: errno)
            error.message += "; set TMPDIR to a writable directory with free space"
            throw error
        }
        unlink(path)
        _ = fcntl(raw, F_SETFD, FD_CLOEXEC)
        return FileDescriptor(taking: raw, subject: "a temporary file")
    }
}
