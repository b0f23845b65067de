import Foundation

/// What a file was when it was read: as long as all of it stays, so do the file's bytes.
///
/// Whoever changes bytes in place changes the file's times, as does whoever sets those back: the
/// time of the last status change cannot be set.
package struct FileIdentity: Sendable, Hashable {
    private let device: UInt64
    private let inode: UInt64
    /// In bytes.
    package let size: Int64
    private let modified: Time
    private let changed: Time

    /// Whether both are the same bytes of the same file, though it may have got another name, which
    /// changes the time of its status.
    package func isSameContent(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode && size == other.size
            && modified == other.modified
    }

    /// Whether both are the same file, whatever its bytes.
    package func isSameFile(as other: FileIdentity) -> Bool {
        device == other.device && inode == other.inode
    }

    /// All of it as text, to be looked up by.
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
        #if canImport(Darwin)
            modified = Time(status.st_mtimespec)
            changed = Time(status.st_ctimespec)
        #else
            modified = Time(status.st_mtim)
            changed = Time(status.st_ctim)
        #endif
    }
}
