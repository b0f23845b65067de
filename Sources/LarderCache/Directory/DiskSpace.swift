import Foundation

/// The room on the file system that a file lies on (statvfs(3)).
struct DiskSpace {
    /// Bytes that are free for whoever is no administrator.
    let free: Int64
    /// What files take on disk is a multiple of this.
    let blockSize: Int64

    /// What a file of so many bytes takes.
    func occupied(by size: Int64) -> Int64 { (size + blockSize - 1) / blockSize * blockSize }

    init(of file: FileDescriptor) throws(CacheError) {
        var status = statvfs()
        guard fstatvfs(file.raw, &status) == 0 else {
            throw CacheError("statvfs", subject: "cache", errno: errno)
        }
        blockSize = max(1, Int64(status.f_frsize))
        free = Int64(status.f_bavail) * blockSize
    }
}
