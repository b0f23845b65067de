import Foundation

extension FileDescriptor {
    /// Whether going up from this directory leads to `root`, or it is that itself.
    package func lies(in root: FileDescriptor) throws(CacheError) -> Bool {
        let root = try root.status()
        var current = self
        var seen: stat?
        while true {
            let status = try current.status()
            if status.st_ino == root.st_ino, status.st_dev == root.st_dev { return true }
            // The directory above the topmost is itself.
            if let seen, seen.st_ino == status.st_ino, seen.st_dev == status.st_dev { return false }
            seen = status
            // Not in this cache any more.
            let raw = try Self.open(
                "..", beneath: current.raw, flags: O_RDONLY | O_DIRECTORY, subject: subject)
            current = FileDescriptor(taking: raw, subject: subject)
        }
    }

    /// A path to this directory for programs that know no descriptors, valid while this one is
    /// open; nil if the system has none (macOS) or does not show it. It leads here even if a
    /// directory on the way was renamed or replaced.
    var pathForSQLite: String? {
        #if os(Linux)
            let path = "/proc/self/fd/\(raw)"
            var found = stat()
            guard let own = try? status(), stat(path, &found) == 0, found.st_ino == own.st_ino,
                found.st_dev == own.st_dev
            else { return nil }
            return path
        #else
            return nil
        #endif
    }
}
