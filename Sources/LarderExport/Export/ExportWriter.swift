import Foundation
import LarderCache
import LarderCore

/// Puts files into a tree, each in one step. A file that has the right bytes stays as it is.
final class ExportWriter {
    /// The age in seconds at which the date of the last access is renewed if the library has dates.
    private static let longestAccess = 86_400

    let tree: ExportTree
    let cache: Cache
    private let modified: Date?
    private let isCancelled: () -> Bool
    private let reader: ObjectReader
    private let readFiles: ReadFiles
    private var serial = 0
    private var mayLink: Bool
    private var mayClone: Bool
    private var isDirty = false

    /// - Parameter modified: The date of last modification of all files; nil: any.
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

    /// - Throws: `CancellationError` if the export was cancelled.
    func goOn() throws {
        if isCancelled() { throw CancellationError() }
    }

    /// Puts an object's bytes into a file, compared with its digest before it gets its name. Calls
    /// `body` before it replaces a file. Throws `.corrupt` if the cache has other bytes,
    /// `.obstructed` if the place is not free for a file.
    func place(
        _ object: StoredObject, as name: String, in directory: FileDescriptor? = nil,
        before body: () throws -> Void = {}
    ) throws -> Placement {
        let directory = directory ?? tree.folder
        if try isInPlace(object, name, directory) { return .unchanged }
        let (file, identity) = try cache.open(object)
        // The cheapest way comes first. A way that the file system refuses is not tried again.
        if mayClone, let temporary = try clone(file) {
            let copy = try tree.folder.file(temporary)
            try publish(temporary, copy, as: name, in: directory, before: body) {
                try confirm(copy, is: object)
                return true
            }
            return .cloned
        }
        if mayLink {
            try confirm(file, is: object)
            if let temporary = try link(object, identity) {
                try publish(temporary, nil, as: name, in: directory, before: body) { true }
                return .linked
            }
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw CacheError("seek", subject: file.subject, errno: errno)
            }
        }
        let (temporary, copy) = try newFile()
        try publish(temporary, copy, as: name, in: directory, before: body) {
            try confirm(file, is: object) { (bytes) throws(CacheError) in try copy.write(bytes) }
            return true
        }
        return .copied
    }

    /// Compares an object's own file with its digest, unless the file in a directory is the same.
    func confirm(
        _ object: StoredObject, unlessIn directory: FileDescriptor, _ name: String
    ) throws {
        let (file, identity) = try cache.open(object)
        let status = try directory.status(of: name)
        if let status, FileIdentity(status).isSameContent(as: identity) { return }
        try confirm(file, is: object)
    }

    /// Whether the file has those bytes already, and is not a hard link if it must not be one.
    private func isInPlace(
        _ object: StoredObject, _ name: String, _ directory: FileDescriptor
    ) throws -> Bool {
        // A file that may not be read is replaced, and so is one whose dates may not be set.
        guard let status = try directory.statusOfFile(name), status.isRegularFile,
            status.st_size == object.size, mayLink || status.st_nlink == 1,
            let file = try? directory.file(name), try file.status().isRegularFile,
            try digest(of: file) == object.digest
        else { return false }
        // The library may also count from the last access, which an export renews.
        if let modified,
            status.modified.tv_sec != Int(modified.timeIntervalSince1970)
                || status.accessed.tv_sec < time(nil) - Self.longestAccess
        {
            guard try file.setDates(modified: modified) else { return false }
            isDirty = true
        }
        return true
    }

    private func confirm(
        _ file: FileDescriptor, is object: StoredObject,
        _ body: ((UnsafeRawBufferPointer) throws(CacheError) -> Void)? = nil
    ) throws {
        let read = try reader.digest(
            file, expecting: object.digest, isCancelled: isCancelled
        ) { (bytes) throws(CacheError) in try body?(bytes) }
        guard let read else { throw CancellationError() }
        guard read == (object.digest, object.size) else {
            throw CacheError(
                .corrupt, subject: "\(object.digest)", message: "the bytes have another digest")
        }
    }

    /// Returns the digest of an existing file, or nil if it is sparse and not read.
    func digest(of file: FileDescriptor) throws -> Digest? {
        // Swift 6.3 crashes if this is a catch clause.
        let read = Result { try readFiles.digest(of: file, isCancelled: isCancelled) }
        if case .failure(let error as CacheError) = read, error.isSparse { return nil }
        guard let digest = try read.get() else { throw CancellationError() }
        return digest
    }

    func write(_ bytes: [UInt8], as name: String, in directory: FileDescriptor? = nil) throws {
        let place = directory ?? tree.folder
        if let old = try place.statusOfFile(name), old.isRegularFile,
            old.st_size == bytes.count, let file = try? place.file(name),
            try file.status().isRegularFile, try file.read(atMost: bytes.count + 1) == bytes
        {
            return
        }
        try write(as: name, in: directory) { try $0.write(bytes) }
    }

    func write(
        as name: String, in directory: FileDescriptor? = nil, _ body: (GeneratedFile) throws -> Void
    ) throws {
        let directory = directory ?? tree.folder
        let (temporary, file) = try newFile()
        try publish(temporary, file, as: name, in: directory) {
            let generated = GeneratedFile(file)
            try body(generated)
            let made = try generated.finish()
            guard let old = try directory.statusOfFile(name), old.isRegularFile,
                old.st_size == made.count, let file = try? directory.file(name)
            else { return true }
            return try digest(of: file) != made.digest
        }
    }

    func remove(_ name: String, in directory: FileDescriptor? = nil) throws(CacheError) -> Bool {
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
    func removeOrLeave(_ name: String, in directory: FileDescriptor? = nil) throws(CacheError) {
        do throws(CacheError) {
            _ = try remove(name, in: directory)
        } catch  where [EISDIR, EPERM, EACCES].contains(error.errno) {}
    }

    /// Makes everything durable that was written. It is called once, at the end: the next export
    /// writes files again that a power cut has taken.
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
        try tree.newFile(after: &serial)
    }

    /// Fills an unfinished file and gives it its name, unless `fill` returns false. If that fails,
    /// removes it. A hard link has no `file`: it has the dates of the cache's, and is durable.
    private func publish(
        _ temporary: String, _ file: FileDescriptor?, as name: String, in directory: FileDescriptor,
        before body: () throws -> Void = {}, filling fill: () throws -> Bool
    ) throws {
        // If both are names of one file, nothing is renamed (rename(2)).
        defer { unlinkat(tree.folder.raw, temporary, 0) }
        guard try fill() else { return }
        if let file {
            if let modified, try !file.setDates(modified: modified) {
                throw CacheError("set times", subject: file.subject, errno: EPERM)
            }
            try Durability.add(file)
        }
        isDirty = true
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

extension ExportWriter {
    /// Returns the name of a new file that shares the blocks of another, or nil if that fails.
    private func clone(_ file: FileDescriptor) throws -> String? {
        #if canImport(Darwin)
            var temporary: String
            var result: Int32
            repeat {
                temporary = newName()
                result = fclonefileat(file.raw, tree.folder.raw, temporary, 0)
            } while result != 0 && errno == EEXIST
            if result == 0 {
                // A clone has the permissions of its original, which is read-only.
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

    /// Returns a new hard link to the file that was read, or nil if that is not possible.
    private func link(_ object: StoredObject, _ read: FileIdentity) throws -> String? {
        var temporary: String
        var number: Int32?
        repeat {
            temporary = newName()
            number = try cache.link(object.digest, to: tree.folder, as: temporary)
        } while number == EEXIST
        if let number {
            // Other reasons may be those of this file alone: the maximum number of names, or
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
