import Foundation

extension FileDescriptor {
    /// Creates a directory, or returns nil if `name` exists. With `keepsUmask`, the umask applies
    /// to all permissions but the owner's, so that `rm -r` works.
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
            // The umask denies access. Changing the mode is safe if no other user can replace the
            // directory.
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

    /// Creates or opens a file. Refuses files with other hard links or that others could change.
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

    /// Empties a directory, and removes it if `name` still leads to it.
    func remove(_ directory: FileDescriptor, named name: String) {
        for name in (try? directory.names()) ?? [] { _ = try? directory.removeTree(name) }
        // If another process replaces the directory now, only an empty one is removed.
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
