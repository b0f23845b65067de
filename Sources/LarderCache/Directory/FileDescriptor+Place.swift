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
            current = try current.directory("..")
        }
    }
}
