import Foundation

/// Where objects go that failed verification, for a person to look at: nothing is deleted.
struct Quarantine {
    private let quarantine: FileDescriptor

    init(of directory: CacheDirectory) throws(CacheError) {
        quarantine = try directory.root.directory(CacheLayout.quarantine, create: true)
    }

    /// Whether a name is one that ``take(_:from:inode:)`` gives.
    static func isOwn(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1], radix: 36) != nil else { return false }
        let former = String(parts[0])
        return Digest(hex: former)?.hex == former || ObjectTree.isFanOut(former)
    }

    /// Moves what is in the place of an object or a fan-out directory, under a name that begins
    /// with its own and that no other has.
    ///
    /// - Parameter inode: what was found bad. If another process puts whole bytes in its place at
    ///   the very moment, they are put back: any whole bytes of a name are the same.
    /// - Returns: the path beneath the root; nil if the file is not there any more.
    func take(
        _ name: String, from parent: FileDescriptor, inode: ino_t
    ) throws(CacheError) -> String? {
        guard try parent.status(of: name)?.st_ino == inode else { return nil }
        let target = "\(name)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        guard renameat(parent.raw, name, quarantine.raw, target) == 0 else {
            if errno == ENOENT { return nil }
            throw CacheError("rename", subject: parent.path(of: name), errno: errno)
        }
        guard try quarantine.status(of: target)?.st_ino == inode else {
            guard renameat(quarantine.raw, target, parent.raw, name) == 0 else {
                throw CacheError("rename", subject: parent.path(of: name), errno: errno)
            }
            return nil
        }
        return "\(CacheLayout.quarantine)/\(target)"
    }
}
