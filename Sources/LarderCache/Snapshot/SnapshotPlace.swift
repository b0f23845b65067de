import Foundation

/// Where a copy of a cache is to be, and where it is made: beside it, under a name of its own.
struct SnapshotPlace {
    private let path: String
    /// The directory in which the copy is made.
    let staging: String
    private let parent: FileDescriptor
    /// Held for as long as the copy is made: what a killed process has left is nobody's, and is
    /// swept by the next.
    private let lock: FileDescriptor

    /// - Throws: ``CacheError`` `.unusable` if the place is taken or lies beneath `source`,
    ///   `.missing` if there is no directory that it could be in.
    init(_ path: String, outside source: CacheDirectory) throws(CacheError) {
        let url = URL(fileURLWithPath: path).standardizedFileURL
        self.path = url.path
        let folder = url.deletingLastPathComponent().path
        func refusal(_ message: String) -> CacheError {
            CacheError(.unusable, subject: url.path, message: message)
        }
        do throws(CacheError) {
            parent = try FileDescriptor.open(folder, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: folder, message: "there is no such directory")
        }
        if try parent.lies(in: source.root) {
            throw refusal("lies in the cache that is to be copied")
        }
        if let status = try parent.status(of: url.lastPathComponent) {
            guard try status.st_dev == parent.status().st_dev else {
                throw refusal("is a file system of its own; name a directory in it")
            }
            guard status.isDirectory else {
                throw refusal("is there already, and not a directory; name a place for the copy")
            }
            guard try parent.directory(url.lastPathComponent).names().isEmpty else {
                throw refusal("is there already, and not empty")
            }
        }
        try Self.sweep(url.lastPathComponent, beneath: parent)
        // Shared, as the cache that is made in it has it.
        let (name, lock) = try parent.makeLockedDirectory(LOCK_SH) {
            let serial = String(UInt64.random(in: .min ... .max), radix: 36)
            return ".\(url.lastPathComponent).\(serial)\(Self.suffix)"
        }
        staging = "\(folder)/\(name)"
        self.lock = lock
    }

    private static let suffix = ".partial"

    /// Removes what was left of copies to the same place whose processes were killed.
    private static func sweep(
        _ name: String, beneath parent: FileDescriptor
    ) throws(CacheError) {
        for staging in try parent.names() {
            let start = ".\(name)."
            let serial = Substring(
                staging.utf8.dropFirst(start.utf8.count).dropLast(suffix.utf8.count))
            guard UInt64(serial, radix: 36) != nil,
                (start + serial + suffix).utf8.elementsEqual(staging.utf8),
                let lock = parent.lockAbandoned(staging)
            else { continue }
            // What is another user's stays.
            _ = try? parent.removeTree(staging)
            withExtendedLifetime(lock) {}
        }
    }

    /// Gives the finished copy its name, durably.
    func publish() throws(CacheError) {
        // An empty directory gives way to another (rename(2)); anything else does not.
        guard rename(staging, path) == 0 else {
            throw CacheError("rename", subject: path, errno: errno)
        }
        guard fsync(parent.raw) == 0 else {
            throw CacheError("fsync", subject: path, errno: errno)
        }
    }

    /// Removes what there is of an unfinished copy.
    func discard() { try? FileManager.default.removeItem(atPath: staging) }
}
