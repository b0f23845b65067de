import Foundation
import LarderCache
import LarderCore

/// Puts files into a tree, each in one step: who reads it finds the old one or the new one, whole.
/// A file that is there and has the right bytes stays as it is.
final class ExportWriter {
    let tree: ExportTree
    let cache: Cache
    private let modified: Date?
    private let isCancelled: () -> Bool
    private let reader: ObjectReader
    private let readFiles: ReadFiles
    private var serial = 0
    var mayLink: Bool
    var mayClone: Bool
    /// Whether something was written since ``flush()``.
    private var isDirty = false

    /// - Parameters:
    ///   - mayLink: whether files may be hard links to the cache's.
    ///   - mayClone: whether they may share its blocks.
    ///   - modified: the date of last modification that they get; nil: they keep their own.
    init(
        _ tree: ExportTree, cache: Cache, mayLink: Bool, mayClone: Bool, modified: Date?,
        isCancelled: @escaping () -> Bool
    ) throws {
        self.tree = tree
        self.cache = cache
        self.mayLink = mayLink
        self.mayClone = mayClone
        self.modified = modified
        self.isCancelled = isCancelled
        reader = cache.reader()
        readFiles = try ReadFiles()
    }

    /// - Throws: `CancellationError` if it is to end.
    func goOn() throws {
        if isCancelled() { throw CancellationError() }
    }

    // MARK: - Objects

    /// Puts an object's bytes into a file, compared with its digest before it gets its name.
    ///
    /// - Parameters:
    ///   - directory: default: the layout's own.
    ///   - body: is done right before a file that differs is replaced. Default: nothing.
    /// - Throws: ``CacheError``, `.corrupt` if the cache has not those bytes, `.obstructed` if
    ///   something that is no file is in the place; `CancellationError`.
    func place(
        _ object: StoredObject, as name: String, in directory: FileDescriptor? = nil,
        before body: () throws -> Void = {}
    ) throws -> Placement {
        let directory = directory ?? tree.folder
        if try isInPlace(object, name, directory) { return .unchanged }
        let (file, identity) = try cache.open(object)
        // The way that costs least comes first; what the file system refuses once is not tried
        // again.
        if mayClone, let temporary = try clone(file) {
            let copy = try tree.folder.file(temporary)
            try confirm(copy, is: object, orRemove: temporary)
            try finish(copy, temporary, as: name, in: directory, before: body)
            return .cloned
        }
        if mayLink {
            try confirm(file, is: object, orRemove: nil)
            if let temporary = try link(object, identity) {
                try rename(temporary, to: name, in: directory, before: body)
                return .linked
            }
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw CacheError("seek", subject: file.subject, errno: errno)
            }
        }
        let (temporary, copy) = try newFile()
        do {
            let read = try reader.digest(
                file, expecting: object.digest, isCancelled: isCancelled
            ) { (bytes) throws(CacheError) in try copy.write(bytes) }
            try Self.check(read, object)
        } catch {
            unlinkat(tree.folder.raw, temporary, 0)
            throw error
        }
        try finish(copy, temporary, as: name, in: directory, before: body)
        return .copied
    }

    /// Compares an object's own file with its digest, unless that is the one in a directory.
    ///
    /// - Throws: ``CacheError``, `.corrupt` if the cache has not those bytes; `CancellationError`.
    func confirm(
        _ object: StoredObject, unlessIn directory: FileDescriptor, _ name: String
    ) throws {
        let (file, identity) = try cache.open(object)
        if let status = try directory.status(of: name),
            FileIdentity(status).isSameContent(as: identity)
        {
            return
        }
        try confirm(file, is: object, orRemove: nil)
    }

    /// Whether the file has those bytes already, and is of its own if it has to be.
    private func isInPlace(
        _ object: StoredObject, _ name: String, _ directory: FileDescriptor
    ) throws -> Bool {
        guard let status = try directory.statusOfFile(name), status.isRegularFile,
            status.st_size == object.size, mayLink || status.st_nlink == 1
        else { return false }
        // It may be somebody's who lets nobody read it: then it is replaced.
        guard let file = try? directory.file(name), try file.status().isRegularFile else {
            return false
        }
        guard try digest(of: file) == object.digest else { return false }
        // The library may also count from the last access, which an export renews.
        if let modified,
            status.modified.tv_sec != Int(modified.timeIntervalSince1970)
                || status.accessed.tv_sec < time(nil) - Self.longestAccess
        {
            // Somebody else's may be read, and not be changed: it is replaced, too.
            guard try file.setDates(modified: modified) else { return false }
            isDirty = true
        }
        return true
    }

    /// How old the last access of a file may be, in seconds, if the library minds dates: a day.
    private static let longestAccess = 86_400

    private func confirm(
        _ file: FileDescriptor, is object: StoredObject, orRemove temporary: String?
    ) throws {
        do {
            let read = try reader.digest(
                file, expecting: object.digest, isCancelled: isCancelled)
            try Self.check(read, object)
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

    /// Returns the digest of a file that was there before, or nil if it is sparse and not read.
    func digest(of file: FileDescriptor) throws -> Digest? {
        // Swift 6.3 crashes if this is a catch clause.
        let read = Result { try readFiles.digest(of: file, isCancelled: isCancelled) }
        if case .failure(let error as CacheError) = read, error.isSparse { return nil }
        guard let digest = try read.get() else { throw CancellationError() }
        return digest
    }

    // MARK: - Bytes

    /// Puts bytes that were made here into a file. Returns whether that is another one now.
    @discardableResult
    func write(
        _ bytes: [UInt8], as name: String, in directory: FileDescriptor? = nil
    ) throws -> Bool {
        let place = directory ?? tree.folder
        // No file is made for what is there already.
        if let old = try place.statusOfFile(name), old.isRegularFile,
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
            if let old = try directory.statusOfFile(name), old.isRegularFile,
                old.st_size == made.count, let file = try? directory.file(name),
                try digest(of: file) == made.digest
            {
                unlinkat(tree.folder.raw, temporary, 0)
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
    func remove(
        _ name: String, in directory: FileDescriptor? = nil
    ) throws(CacheError) -> Bool {
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

    /// Removes a file. A directory, or a file of another user, stays.
    func removeOrLeave(
        _ name: String, in directory: FileDescriptor? = nil
    ) throws(CacheError) {
        do throws(CacheError) {
            _ = try remove(name, in: directory)
        } catch  where [EISDIR, EPERM, EACCES].contains(error.errno) {}
    }

    /// Makes everything durable that was written. Once, at the end: what is lost with the power is
    /// written again by the next export.
    func flush() throws(CacheError) {
        guard isDirty else { return }
        try Durability.add(tree.folder)
        try Durability.flush(tree.folder)
        isDirty = false
    }

    func newName() -> String {
        serial += 1
        return ExportTree.temporary(serial)
    }

    func newFile() throws(CacheError) -> (name: String, file: FileDescriptor) {
        try tree.newFile(after: &serial)
    }

    private func finish(
        _ file: FileDescriptor, _ temporary: String, as name: String, in directory: FileDescriptor,
        before body: () throws -> Void = {}
    ) throws {
        do {
            if let modified, try !file.setDates(modified: modified) {
                throw CacheError("set times", subject: file.subject, errno: EPERM)
            }
            try Durability.add(file)
        } catch {
            unlinkat(tree.folder.raw, temporary, 0)
            throw error
        }
        try rename(temporary, to: name, in: directory, before: body)
    }

    private func rename(
        _ temporary: String, to name: String, in directory: FileDescriptor,
        before body: () throws -> Void
    ) throws {
        isDirty = true
        // Where both are names of one file already, nothing is renamed (rename(2)).
        defer { unlinkat(tree.folder.raw, temporary, 0) }
        try body()
        try tree.folder.rename(temporary, to: directory, as: name)
    }
}

/// A file that is written piece by piece, and digested at the same time.
final class GeneratedFile {
    private let file: FileDescriptor
    private var hasher = RunningDigest()
    private var buffer: [UInt8] = []
    private var count: Int64 = 0

    init(_ file: FileDescriptor) { self.file = file }

    func write(_ text: String) throws(CacheError) { try write(text.utf8) }

    func write(_ bytes: some Sequence<UInt8>) throws(CacheError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= 64 << 10 { try flush() }
    }

    func finish() throws(CacheError) -> (digest: Digest, count: Int64) {
        try flush()
        return (hasher.digest, count)
    }

    private func flush() throws(CacheError) {
        try file.write(buffer)
        hasher.update(buffer)
        count += Int64(buffer.count)
        buffer.removeAll(keepingCapacity: true)
    }
}

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
