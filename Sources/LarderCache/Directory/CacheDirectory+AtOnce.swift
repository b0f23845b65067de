import CLarderSystem
import Foundation

extension CacheDirectory {
    /// Opens an object for reading, unless that takes the disk; nil if it does, if the system
    /// cannot tell (macOS, Linux before 5.12), or if there is no such file.
    func openAtOnce(_ digest: Digest) -> FileDescriptor? {
        #if os(Linux)
            let path = CacheLayout.path(digest)
            let raw = larder_open_cached(root.raw, path)
            guard raw >= 0 else { return nil }
            return FileDescriptor(taking: raw, subject: path)
        #else
            return nil
        #endif
    }
}
