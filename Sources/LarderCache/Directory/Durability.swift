import CLarderSystem
import Foundation

package enum Durability {
    /// Prepares a changed file or directory for ``flush(_:)``. Opens it only if necessary, because
    /// a batch may exceed the limit on open files.
    package static func add(
        _ file: @autoclosure () throws(CacheError) -> FileDescriptor
    ) throws(CacheError) {
        #if canImport(Darwin)
            // A barrier orders the writes, and one full flush then empties the drive's cache.
            let file = try file()
            if fcntl(file.raw, F_BARRIERFSYNC) != 0 { try sync(file) }
        #else
            if !syncfsReportsErrors { try sync(try file()) }
        #endif
    }

    /// Makes all added files durable. On ext4, hundreds of `fsync` calls took twenty times as long
    /// as one `syncfs`. Never retry a failed sync: the kernel reports a lost write only once.
    package static func flush(_ root: FileDescriptor) throws(CacheError) {
        #if canImport(Darwin)
            try check(fcntl(root.raw, F_FULLFSYNC), of: "fsync")
        #else
            if syncfsReportsErrors { try check(syncfs(root.raw), of: "syncfs") }
        #endif
    }

    private static func sync(_ file: FileDescriptor) throws(CacheError) {
        try check(fsync(file.raw), of: "fsync")
    }

    private static func check(_ result: Int32, of call: String) throws(CacheError) {
        guard result == 0 else { throw CacheError(call, subject: "cache", errno: errno) }
    }

    #if !canImport(Darwin)
        /// Whether syncfs reports write errors, which it has done since Linux 5.8 (syncfs(2)).
        private static let syncfsReportsErrors: Bool = {
            var name = utsname()
            guard uname(&name) == 0 else { return false }
            let release = withUnsafePointer(to: &name.release) {
                $0.withMemoryRebound(to: CChar.self, capacity: 65) { String(cString: $0) }
            }
            let parts = release.split(whereSeparator: { !$0.isNumber }).compactMap { Int($0) }
            return parts.count >= 2 && (parts[0], parts[1]) >= (5, 8)
        }()
    #endif
}

struct DiskSpace {
    let size: Int64
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
