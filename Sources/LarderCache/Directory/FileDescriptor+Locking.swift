import Foundation

/// Directories that belong to whoever holds the lock on them: what a killed process has left is
/// nobody's.
extension FileDescriptor {
    /// Makes a directory in this one, and locks it before a sweep takes it.
    ///
    /// - Parameter operation: `LOCK_SH` or `LOCK_EX`.
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
                throw CacheError("lock", subject: directory.subject, errno: errno)
            }
            // A process that sweeps took it before it was locked: make another.
        }
        throw CacheError(
            .unusable, subject: subject, message: "new directories in it are removed at once")
    }

    /// Opens and locks the directory `name`; nil if somebody holds it, or it cannot be opened.
    func lockAbandoned(_ name: String) -> FileDescriptor? {
        guard let directory = try? directory(name), flock(directory.raw, LOCK_EX | LOCK_NB) == 0
        else { return nil }
        return directory
    }

    /// Gives up a lock (flock(2)) at once. Closing does not, while a process that is just being
    /// started has a copy of the descriptor.
    func unlock() { flock(raw, LOCK_UN) }
}
