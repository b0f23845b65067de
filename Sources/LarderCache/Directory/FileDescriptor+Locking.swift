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
        while true {
            let name = newName()
            if let number = Self.makeDirectory(name, beneath: self, mode: mode) {
                throw CacheError("mkdir", subject: path(of: name), errno: number)
            }
            do throws(CacheError) {
                let directory = try directory(name)
                guard flock(directory.raw, operation | LOCK_NB) == 0 else {
                    throw CacheError("lock", subject: directory.subject, errno: errno)
                }
                if try status(of: name) != nil { return (name, directory) }
            } catch  where error.errno == ENOENT || error.code == .locked {
                // A sweeping process took it before it was locked: make another.
            } catch {
                unlinkat(raw, name, AT_REMOVEDIR)
                throw error
            }
        }
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
