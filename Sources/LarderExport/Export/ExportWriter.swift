import Foundation
import LarderCache

#if !canImport(Darwin)
    import Glibc
#endif

/// Puts files into a tree, each in one step: who reads it finds the old one or the new one, whole.
/// A file that is there and has the right bytes stays as it is.
final class ExportWriter {
    private let tree: ExportTree
    private let cache: Cache
    private let modified: Date?
    private let isCancelled: () -> Bool
    private let reader = ObjectReader()
    private var serial = 0
    private var mayLink: Bool
    private var mayClone: Bool
    /// Whether something was written since ``flush()``.
    private var isDirty = false

    /// - Parameters:
    ///   - mayLink: whether files may be hard links to the cache's.
    ///   - mayClone: whether they may share its blocks.
    ///   - modified: the date of last modification that they get; nil: they keep their own.
    init(
        _ tree: ExportTree, cache: Cache, mayLink: Bool, mayClone: Bool, modified: Date?,
        isCancelled: @escaping () -> Bool
    ) {
        self.tree = tree
        self.cache = cache
        self.mayLink = mayLink
        self.mayClone = mayClone
        self.modified = modified
        self.isCancelled = isCancelled
    }

    // MARK: - Objects

    /// Puts an object's bytes into a file, compared with its digest before it gets its name.
    ///
    /// - Parameter directory: default: the layout's own.
    /// - Throws: ``CacheError``, `.corrupt` if the cache has not those bytes, `.obstructed` if
    ///   something that is no file is in the place; `CancellationError`.
    func place(
        _ object: StoredObject, as name: String, in directory: FileDescriptor? = nil
    ) throws -> Placement {
        let directory = directory ?? tree.folder
        if try isInPlace(object, name, directory) { return .unchanged }
        let (file, identity) = try cache.open(object)
        // The way that costs least comes first; what the file system refuses once is not tried
        // again.
        if mayClone, let temporary = try clone(file) {
            let copy = try tree.folder.file(temporary)
            try confirm(copy, is: object, orRemove: temporary)
            try finish(copy, temporary, as: name, in: directory)
            return .cloned
        }
        if mayLink {
            try confirm(file, is: object, orRemove: nil)
            if let temporary = try link(object, identity) {
                try rename(temporary, to: name, in: directory)
                return .linked
            }
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw CacheError("seek", subject: file.subject, errno: errno)
            }
        }
        let (temporary, copy) = try newFile()
        do {
            let read = try reader.digest(file, isCancelled: isCancelled) {
                (bytes) throws(CacheError) in try copy.write(bytes)
            }
            try Self.check(read, object)
        } catch {
            unlinkat(tree.folder.raw, temporary, 0)
            throw error
        }
        try finish(copy, temporary, as: name, in: directory)
        return .copied
    }

    /// Whether the file has those bytes already, and is of its own if it has to be.
    private func isInPlace(
        _ object: StoredObject, _ name: String, _ directory: FileDescriptor
    ) throws -> Bool {
        guard let status = try self.status(of: name, in: directory), status.isRegularFile,
            status.st_size == object.size, mayLink || status.st_nlink == 1
        else { return false }
        // It may be somebody's who lets nobody read it: then it is replaced.
        guard let file = try? directory.file(name), try file.status().isRegularFile else {
            return false
        }
        guard let read = try reader.digest(file, isCancelled: isCancelled) else {
            throw CancellationError()
        }
        guard read == (object.digest, object.size) else { return false }
        if let modified, status.modified.tv_sec != Int(modified.timeIntervalSince1970) {
            try stamp(file)
            isDirty = true
        }
        return true
    }

    /// What is in a file's place; nil if nothing is.
    private func status(of name: String, in directory: FileDescriptor) throws -> stat? {
        do throws(CacheError) {
            guard let status = try directory.status(of: name) else { return nil }
            guard !status.isDirectory else {
                throw CacheError(
                    .obstructed, subject: directory.path(of: name),
                    message: "is a directory, in the place of a file")
            }
            return status
        } catch  where error.errno == ENAMETOOLONG {
            throw CacheError(
                .obstructed, subject: directory.path(of: name),
                message: "the name is too long for this file system")
        }
    }

    private func confirm(
        _ file: FileDescriptor, is object: StoredObject, orRemove temporary: String?
    ) throws {
        do {
            try Self.check(try reader.digest(file, isCancelled: isCancelled), object)
        } catch {
            if let temporary { unlinkat(tree.folder.raw, temporary, 0) }
            throw error
        }
    }

    private static func check(
        _ read: (digest: Digest, count: Int64)?, _ object: StoredObject
    ) throws {
        guard let read else { throw CancellationError() }
        guard read == (object.digest, object.size) else {
            throw CacheError(
                .corrupt, subject: "\(object.digest)", message: "the bytes have another digest")
        }
    }

    // MARK: - Ways

    /// A new file that shares the blocks of another; nil if that is not possible here.
    private func clone(_ file: FileDescriptor) throws -> String? {
        #if canImport(Darwin)
            let temporary = newName()
            if fclonefileat(file.raw, tree.folder.raw, temporary, 0) == 0 {
                // A clone has the rights of its original, which nobody may write.
                guard fchmodat(tree.folder.raw, temporary, 0o644, 0) == 0 else {
                    throw CacheError("chmod", subject: tree.path, errno: errno)
                }
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
    private func link(_ object: StoredObject, _ read: FileIdentity) throws -> String? {
        let temporary = newName()
        if let number = try cache.link(object.digest, to: tree.folder, as: temporary) {
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

    // MARK: - Bytes

    /// Puts bytes that were made here into a file. Returns whether that is another one now.
    @discardableResult
    func write(
        _ bytes: [UInt8], as name: String, in directory: FileDescriptor? = nil
    ) throws -> Bool {
        let place = directory ?? tree.folder
        // No file is made for what is there already.
        if modified == nil, let old = try status(of: name, in: place), old.isRegularFile,
            old.st_size == bytes.count, let file = try? place.file(name),
            try file.status().isRegularFile, try file.read(atMost: bytes.count + 1) == bytes
        {
            return false
        }
        return try write(as: name, in: directory) { try $0.write(bytes) }
    }

    /// The same for what is made piece by piece.
    @discardableResult
    func write(
        as name: String, in directory: FileDescriptor? = nil,
        _ body: (GeneratedFile) throws -> Void
    ) throws -> Bool {
        let directory = directory ?? tree.folder
        let (temporary, file) = try newFile()
        do {
            let generated = GeneratedFile(file)
            try body(generated)
            let made = try generated.finish()
            if let old = try status(of: name, in: directory), old.isRegularFile,
                old.st_size == made.count, let file = try? directory.file(name),
                let read = try reader.digest(file, isCancelled: isCancelled), read == made
            {
                unlinkat(tree.folder.raw, temporary, 0)
                if modified != nil { try stamp(file) }
                return false
            }
        } catch {
            unlinkat(tree.folder.raw, temporary, 0)
            throw error
        }
        try finish(file, temporary, as: name, in: directory)
        return true
    }

    // MARK: - Files

    /// Removes a file; one that is gone already is fine. Returns whether it was there.
    func remove(_ name: String, in directory: FileDescriptor? = nil) throws -> Bool {
        let directory = directory ?? tree.folder
        guard unlinkat(directory.raw, name, 0) == 0 else {
            guard errno == ENOENT else {
                throw CacheError("unlink", subject: directory.path(of: name), errno: errno)
            }
            return false
        }
        isDirty = true
        return true
    }

    /// Makes everything durable that was written. Once, at the end: what is lost with the power is
    /// written again by the next export.
    func flush() throws(CacheError) {
        guard isDirty else { return }
        try Durability.add(tree.folder)
        try Durability.flush(tree.folder)
        isDirty = false
    }

    private func newName() -> String {
        serial += 1
        return ExportTree.temporary(serial)
    }

    private func newFile() throws(CacheError) -> (name: String, file: FileDescriptor) {
        let name = newName()
        let flags = O_RDWR | O_CREAT | O_EXCL
        return (name, try tree.folder.open(name, flags: flags, mode: 0o666))
    }

    private func finish(
        _ file: FileDescriptor, _ temporary: String, as name: String, in directory: FileDescriptor
    ) throws {
        do {
            try stamp(file)
            try Durability.add(file)
        } catch {
            unlinkat(tree.folder.raw, temporary, 0)
            throw error
        }
        try rename(temporary, to: name, in: directory)
    }

    private func rename(
        _ temporary: String, to name: String, in directory: FileDescriptor
    ) throws {
        isDirty = true
        // Where both are names of one file already, nothing is renamed (rename(2)).
        defer { unlinkat(tree.folder.raw, temporary, 0) }
        try tree.folder.rename(temporary, to: directory, as: name)
    }

    private func stamp(_ file: FileDescriptor) throws {
        guard let modified else { return }
        let seconds = time_t(modified.timeIntervalSince1970)
        var times = [
            timespec(tv_sec: time(nil), tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0),
        ]
        guard futimens(file.raw, &times) == 0 else {
            throw CacheError("set times", subject: file.subject, errno: errno)
        }
    }
}
