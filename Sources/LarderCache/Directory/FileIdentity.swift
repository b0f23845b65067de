import Foundation

/// The identity of a file's contents. Programs cannot set the status change time back.
package struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    package let size: Int64
    private let modified: Int64
    private let changed: Int64

    package func isSameContent(as other: FileIdentity) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }

    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }

    package var text: String { "\(device) \(inode) \(size) \(modified) \(changed)" }

    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        func nanoseconds(_ time: timespec) -> Int64 {
            Int64(time.tv_sec) &* 1_000_000_000 &+ Int64(time.tv_nsec)
        }
        modified = nanoseconds(status.modified)
        changed = nanoseconds(status.changed)
    }
}

extension stat {
    package var isRegularFile: Bool { st_mode & S_IFMT == S_IFREG }
    package var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
    package var isLink: Bool { st_mode & S_IFMT == S_IFLNK }

    func isSameFile(as other: stat) -> Bool { st_ino == other.st_ino && st_dev == other.st_dev }

    /// The allocated size. `st_blocks` counts blocks of 512 bytes on all systems (stat(2)).
    package var allocatedBytes: Int64 { Int64(st_blocks) * 512 }
    /// The maximum size of a file that is not sparse: 1 MiB plus 16 times the allocated bytes,
    /// because some file systems compress files.
    package var plausibleBytes: Int64 {
        min(max(0, Int64(st_blocks)), 1 << 48) * 512 * 16 + 1 << 20
    }
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
