import Foundation

/// The identity of a file when it was read. While it stays the same, so do the bytes: any change
/// sets the time of the last status change, which nobody can set back.
package struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    package let size: Int64
    private let modified: Time
    private let changed: Time

    package func isSameContent(as other: FileIdentity) -> Bool {
        isSameFile(as: other) && size == other.size && modified == other.modified
    }

    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }

    package var text: String {
        let times = [modified, changed].map { "\($0.seconds).\($0.nanoseconds)" }
        return "\(device) \(inode) \(size) \(times[0]) \(times[1])"
    }

    /// Of what is at a path of the user's own; nil if nothing is, or nobody may know.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        self.init(status)
    }

    private struct Time: Sendable, Hashable {
        let seconds: Int
        let nanoseconds: Int

        init(_ time: timespec) { (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec)) }
    }

    package init(_ status: stat) {
        device = UInt64(truncatingIfNeeded: status.st_dev)
        inode = UInt64(status.st_ino)
        size = Int64(status.st_size)
        modified = Time(status.modified)
        changed = Time(status.changed)
    }
}

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
    /// The bytes on disk that removing this name frees: none of a file with another name.
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
