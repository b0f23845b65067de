import Foundation

extension stat {
    package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    /// What the file takes on disk: st_blocks counts 512 bytes on every system (stat(2)).
    package var allocatedBytes: Int64 { Int64(st_blocks) * 512 }
    /// The most bytes that a file with this allocation is expected to have: 16 times the allocated
    /// bytes, because some file systems compress, and 1 MiB. A sparse file states any size.
    package var plausibleBytes: Int64 {
        min(max(0, Int64(st_blocks)), 1 << 48) * 512 * 16 + 1 << 20
    }
    /// What is free on disk once this name is gone: nothing if a file has another one (a hard
    /// link).
    var freeableBytes: Int64 { isDirectory || st_nlink < 2 ? allocatedBytes : 0 }

    #if canImport(Darwin)
        package var accessed: timespec { st_atimespec }
        package var modified: timespec { st_mtimespec }
        var changed: timespec { st_ctimespec }
    #else
        package var accessed: timespec { st_atim }
        package var modified: timespec { st_mtim }
        var changed: timespec { st_ctim }
    #endif
}
