import Foundation
import LarderCache

#if !canImport(Darwin)
    import Glibc
#endif

// Files that have their bytes in common with the cache's.

extension ExportWriter {
    /// A new file that shares the blocks of another; nil if that is not possible here.
    func clone(_ file: FileDescriptor) throws -> String? {
        #if canImport(Darwin)
            var temporary: String
            var result: Int32
            repeat {
                temporary = newName()
                result = fclonefileat(file.raw, tree.folder.raw, temporary, 0)
            } while result != 0 && errno == EEXIST
            if result == 0 {
                // A clone has the rights of its original, which nobody may write.
                try tree.folder.file(temporary).setMode(0o644)
                return temporary
            }
        #else
            let (temporary, copy) = try newFile()
            // FICLONE, ioctl_ficlone(2): _IOW(0x94, 9, int), which Glibc's module lacks.
            if ioctl(copy.raw, 0x4004_9409, file.raw) == 0 { return temporary }
            unlinkat(tree.folder.raw, temporary, 0)
        #endif
        mayClone = false
        return nil
    }

    /// Another name of an object's file, if that is the file that was read; nil if it can have none
    /// here.
    func link(_ object: StoredObject, _ read: FileIdentity) throws -> String? {
        var temporary: String
        var number: Int32?
        repeat {
            temporary = newName()
            number = try cache.link(object.digest, to: tree.folder, as: temporary)
        } while number == EEXIST
        if let number {
            // Of the other reasons, some are this file's alone: as many names as it may have, or
            // another owner (proc(5), protected_hardlinks).
            if [EXDEV, ENOTSUP, ENOSYS].contains(number) { mayLink = false }
            return nil
        }
        let status = try tree.folder.status(of: temporary)
        if let status, FileIdentity(status).isSameContent(as: read) { return temporary }
        unlinkat(tree.folder.raw, temporary, 0)
        return nil
    }
}
