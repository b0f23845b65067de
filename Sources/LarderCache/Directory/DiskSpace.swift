import Foundation

/// The room on the file system that a file lies on (statvfs(3)).
struct DiskSpace {
    /// How many bytes it has in all.
    let size: Int64
    /// Bytes that are free for whoever is not an administrator.
    let free: Int64

    init(of file: FileDescriptor) throws(CacheError) {
        var status = statvfs()
        guard fstatvfs(file.raw, &status) == 0 else {
            throw CacheError("statvfs", subject: "cache", errno: errno)
        }
        let blockSize = max(1, Int64(status.f_frsize))
        size = Int64(status.f_blocks) * blockSize
        free = Int64(status.f_bavail) * blockSize
    }
}
