import Foundation

/// Where a copy of a cache is to be, and where it is made: next to it, under a name of its own.
///
/// The directory around both may belong to another user, who can rename and replace what is in it
/// at any time. So the copy is made and removed through its descriptor.
struct SnapshotPlace {
    private let path: String
    private let name: String
    private let parent: FileDescriptor
    /// The name of the directory in which the copy is made.
    private let stagingName: String
    /// The directory in which the copy is made. It is locked as long as this is open: what a killed
    /// process has left is not, and is swept by the next.
    let staging: FileDescriptor
    /// The path of ``staging``, for messages.
    let stagingPath: String

    /// - Throws: ``CacheError`` `.unusable` if the place is taken, lies beneath `source` or behind
    ///   another user's link, `.missing` if there is no directory that it could be in.
    init(_ path: String, outside source: CacheDirectory) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        name = path.lastName
        let folder = path.parentDirectory
        func refusal(_ message: String) -> CacheError {
            CacheError(.unusable, subject: path, message: message)
        }
        do throws(CacheError) {
            parent = try UsersPath(folder).directory()
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: folder, message: "there is no such directory")
        }
        if try parent.lies(in: source.root) {
            throw refusal("lies in the cache that is to be copied")
        }
        if let status = try parent.status(of: name) {
            guard try status.st_dev == parent.status().st_dev else {
                throw refusal("is a file system of its own; name a directory in it")
            }
            guard status.isDirectory else {
                throw refusal("is there already, and not a directory; name a place for the copy")
            }
            guard try parent.directory(name).names().isEmpty else {
                throw refusal("is there already, and not empty")
            }
        }
        try Self.sweep(name, beneath: parent)
        // Shared, as the cache that is made in it has it.
        (stagingName, staging) = try parent.makeLockedDirectory(LOCK_SH) { [name] in
            let serial = String(UInt64.random(in: .min ... .max), radix: 36)
            return ".\(name).\(serial)\(Self.suffix)"
        }
        stagingPath = "\(folder)/\(stagingName)"
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
                let left = parent.lockAbandoned(staging),
                // What another user has put there stays.
                try left.status().st_uid == geteuid()
            else { continue }
            parent.remove(left, named: staging)
        }
    }

    /// Gives the finished copy its name, durably.
    func publish() throws(CacheError) {
        func confirm(_ name: String) throws(CacheError) {
            guard try parent.has(staging, as: name) else {
                throw CacheError(
                    .unusable, subject: "\(path.parentDirectory)/\(name)",
                    message: "was moved or replaced while the copy was made")
            }
        }
        try confirm(stagingName)
        // An empty directory gives way to another (rename(2)); anything else does not.
        guard renameat(parent.raw, stagingName, parent.raw, name) == 0 else {
            throw CacheError("rename", subject: path, errno: errno)
        }
        try confirm(name)
        guard fsync(parent.raw) == 0 else {
            throw CacheError("fsync", subject: path, errno: errno)
        }
    }

    /// Removes what there is of an unfinished copy.
    func discard() { parent.remove(staging, named: stagingName) }
}
