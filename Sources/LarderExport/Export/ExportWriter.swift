import Foundation
import LarderCache
import LarderCore

/// A writer that creates and replaces an export's files atomically. Locks the directory against
/// other exports, and follows no links in it.
final class ExportWriter {
    /// The age in seconds above which an access date is set to now.
    private static let accessDateAge = 86_400

    let folder: FileDescriptor
    let path: String
    let cache: Cache
    private let modified: Date?
    let isCancelled: () -> Bool
    private let reader: ObjectReader
    private let readFiles: ReadFiles
    private var serial = 0
    private var mayLink: Bool
    private var mayClone: Bool
    private var isDirty = false

    /// Creates missing directories and removes partial files of killed exports. Follows links in
    /// `path` unless another user owns them.
    init(
        _ path: String, folders: [String] = [], cache: Cache, mayShare: Bool = true,
        mayLink: Bool = true, modified: Date? = nil, isCancelled: @escaping () -> Bool
    ) throws {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        var folder = try UsersPath(path).directory(create: true) { (nearest) throws(CacheError) in
            guard try !nearest.lies(in: cache.root) else {
                throw CacheError(
                    .unusable, subject: path,
                    message: "is inside the cache; choose another directory")
            }
        }
        for name in folders { folder = try folder.folder(name) }
        (self.folder, self.path) = (folder, ([path] + folders).joined(separator: "/"))
        (self.cache, self.modified, self.isCancelled) = (cache, modified, isCancelled)
        self.mayLink = mayLink && mayShare && modified == nil
        mayClone = mayShare
        reader = cache.reader()
        readFiles = try ReadFiles()
        guard try !cache.root.lies(in: folder) else {
            throw CacheError(.unusable, subject: self.path, message: "contains the cache")
        }
        guard flock(folder.raw, LOCK_EX | LOCK_NB) == 0 else {
            throw CacheError(
                .locked, subject: self.path, message: "another export is writing to it")
        }
        try folder.forEachName { (name) throws(CacheError) in
            guard name.utf8.starts(with: ".larder-".utf8),
                name.wholeMatch(of: /\.larder-[0-9]+\.partial/) != nil
            else { return }
            unlinkat(folder.raw, name, 0)
        }
    }

    deinit { flock(folder.raw, LOCK_UN) }

    func checkCancellation() throws { if isCancelled() { throw CancellationError() } }

    /// Puts verified bytes in a file unless it already has them. Calls `body` before the rename.
    func place(
        _ rendition: Rendition, as name: String, in directory: FileDescriptor? = nil,
        before body: () throws -> Void = {}
    ) throws -> Placement {
        let directory = directory ?? folder
        if try isInPlace(rendition, name, directory) { return .unchanged }
        func publish(
            _ temporary: String, _ file: FileDescriptor?, filling fill: () throws -> Void = {}
        ) throws {
            try self.publish(temporary, file, as: name, in: directory, before: body, filling: fill)
        }
        guard let object = rendition.original else {
            guard let bytes = rendition.bytes else {
                throw ResizeError("\(name) changed during the export; export again")
            }
            let (temporary, file) = try newFile()
            try publish(temporary, file) { try file.write(bytes) }
            return .resized
        }
        let (file, opened) = try cache.open(object)
        // Cloning is cheapest, then linking. An unsupported method is tried only once.
        if mayClone, let temporary = try clone(file) {
            let copy = try folder.file(temporary)
            try publish(temporary, copy) { try confirm(copy, is: object) }
            return .cloned
        }
        if mayLink {
            try confirm(file, is: object)
            if let temporary = try link(object, FileIdentity(opened)) {
                try publish(temporary, nil)
                return .linked
            }
            guard lseek(file.raw, 0, SEEK_SET) == 0 else {
                throw CacheError("seek", subject: file.subject, errno: errno)
            }
        }
        let (temporary, copy) = try newFile()
        try publish(temporary, copy) {
            try confirm(file, is: object) { (bytes) throws(CacheError) in try copy.write(bytes) }
        }
        return .copied
    }

    func verified(_ object: StoredObject) throws -> FileDescriptor {
        let (file, _) = try cache.open(object)
        try confirm(file, is: object)
        return file
    }

    /// Verifies an object's file in the cache, unless the exported file is a hard link to it.
    func confirm(
        _ object: StoredObject, unlessIn directory: FileDescriptor, _ name: String
    ) throws {
        let (file, opened) = try cache.open(object)
        let status = try directory.status(of: name)
        if let status, FileIdentity(status).isSameContent(as: FileIdentity(opened)) { return }
        try confirm(file, is: object)
    }

    /// Whether the file has the correct bytes, and only one hard link unless more are allowed.
    func isInPlace(
        _ rendition: Rendition, _ name: String, _ directory: FileDescriptor
    ) throws -> Bool {
        // A file is replaced if it cannot be read or its dates cannot be set.
        let (digest, size) = (rendition.digest, rendition.size)
        guard let (file, status) = try self.file(name, in: directory, digest, size: size),
            mayLink || status.st_nlink == 1
        else { return false }
        // Renews old access dates, because libraries may remove files by this date.
        if let modified,
            status.modified.tv_sec != Int(modified.timeIntervalSince1970)
                || status.accessed.tv_sec < time(nil) - Self.accessDateAge
        {
            guard try file.setDates(modified: modified) else { return false }
            isDirty = true
        }
        return true
    }

    /// Opens a file, or returns nil if its digest differs. The status was taken before the read.
    private func file(
        _ name: String, in directory: FileDescriptor, _ digest: Digest, size: Int64
    ) throws -> (file: FileDescriptor, status: stat)? {
        guard let status = try directory.statusOfFile(name), status.isRegularFile,
            status.st_size == size, let file = try? directory.file(name),
            try file.status().isRegularFile, try self.digest(of: file) == digest
        else { return nil }
        return (file, status)
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
                .corrupt, subject: "\(object.digest)", message: "the bytes have a different digest")
        }
    }

    func digest(of file: FileDescriptor) throws -> Digest? {
        // A catch clause here would crash Swift 6.3.
        let read = Result { try readFiles.digest(of: file, isCancelled: isCancelled) }
        if case .failure(let error as CacheError) = read, error.isSparse { return nil }
        guard let digest = try read.get() else { throw CancellationError() }
        return digest
    }

    func write(_ bytes: [UInt8], as name: String, in directory: FileDescriptor? = nil) throws {
        // It is cheaper to read an existing file than to write a temporary one.
        let (digest, size) = (Digest(of: bytes), Int64(bytes.count))
        if try file(name, in: directory ?? folder, digest, size: size) != nil { return }
        try write(as: name, in: directory) { try $0.write(bytes) }
    }

    func write(
        as name: String, in directory: FileDescriptor? = nil, _ body: (GeneratedFile) throws -> Void
    ) throws {
        let directory = directory ?? folder
        let (temporary, file) = try newFile()
        defer { unlinkat(folder.raw, temporary, 0) }
        let generated = GeneratedFile(file)
        try body(generated)
        let made = try generated.finish()
        if try self.file(name, in: directory, made.digest, size: made.count) != nil { return }
        try publish(temporary, file, as: name, in: directory)
    }

    func remove(_ name: String, in directory: FileDescriptor? = nil) throws(CacheError) -> Bool {
        let directory = directory ?? folder
        if unlinkat(directory.raw, name, 0) != 0 {
            if errno == ENOENT { return false }
            throw CacheError("unlink", subject: directory.path(of: name), errno: errno)
        }
        isDirty = true
        return true
    }

    func removeIfPermitted(_ name: String, in directory: FileDescriptor? = nil) throws(CacheError) {
        do throws(CacheError) {
            _ = try remove(name, in: directory)
        } catch  where [EISDIR, EPERM, EACCES].contains(error.errno) {}
    }

    /// Makes all files durable. One call at the end is enough: the next export replaces lost files.
    func flush() throws(CacheError) {
        guard isDirty else { return }
        try Durability.add(folder)
        try Durability.flush(folder)
        isDirty = false
    }

    private func newName() -> String {
        serial += 1
        return ".larder-\(serial).partial"
    }

    private func newFile() throws(CacheError) -> (name: String, file: FileDescriptor) {
        while true {
            let name = newName()
            do throws(CacheError) {
                return (name, try folder.create(name))
            } catch  where error.errno == EEXIST {}
        }
    }

    /// Fills a temporary file and renames it to `name`, or removes it if `fill` throws. `file` is
    /// nil for a hard link, which is already durable and keeps its dates.
    private func publish(
        _ temporary: String, _ file: FileDescriptor?, as name: String, in directory: FileDescriptor,
        before body: () throws -> Void = {}, filling fill: () throws -> Void = {}
    ) throws {
        // rename(2) keeps the temporary name if both names are links to the same file.
        defer { unlinkat(folder.raw, temporary, 0) }
        try fill()
        if let file {
            if let modified, try !file.setDates(modified: modified) {
                throw CacheError("set times", subject: file.subject, errno: EPERM)
            }
            try Durability.add(file)
        }
        isDirty = true
        try body()
        try folder.rename(temporary, to: directory, as: name)
    }
}

package final class GeneratedFile {
    private let file: FileDescriptor
    private var hasher = RunningDigest()
    private var buffer: [UInt8] = []
    private var count: Int64 = 0

    package init(_ file: FileDescriptor) { self.file = file }

    func write(_ text: String) throws(CacheError) { try write(text.utf8) }

    package func write(_ bytes: some Sequence<UInt8>) throws(CacheError) {
        buffer.append(contentsOf: bytes)
        if buffer.count >= 64 << 10 { try flush() }
    }

    package func finish() throws(CacheError) -> (digest: Digest, count: Int64) {
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
    private func clone(_ file: FileDescriptor) throws -> String? {
        #if canImport(Darwin)
            var temporary: String
            var result: Int32
            repeat {
                temporary = newName()
                result = fclonefileat(file.raw, folder.raw, temporary, 0)
            } while result != 0 && errno == EEXIST
            if result == 0 {
                // The clone is read-only like the cache's file.
                try folder.file(temporary).setMode(0o644)
                return temporary
            }
        #else
            let (temporary, copy) = try newFile()
            // FICLONE, ioctl_ficlone(2): _IOW(0x94, 9, int). The Glibc module lacks the constant.
            if ioctl(copy.raw, 0x4004_9409, file.raw) == 0 { return temporary }
            unlinkat(folder.raw, temporary, 0)
        #endif
        mayClone = false
        return nil
    }

    private func link(_ object: StoredObject, _ read: FileIdentity) throws -> String? {
        var temporary: String
        var number: Int32?
        repeat {
            temporary = newName()
            number = try cache.link(object.digest, to: folder, as: temporary)
        } while number == EEXIST
        if let number {
            // Other errors may concern only this file: its number of links or its owner (proc(5)).
            if [EXDEV, ENOTSUP, ENOSYS].contains(number) { mayLink = false }
            return nil
        }
        let status = try folder.status(of: temporary)
        if let status, FileIdentity(status).isSameContent(as: read) { return temporary }
        unlinkat(folder.raw, temporary, 0)
        return nil
    }
}

extension FileDescriptor {
    func forEachEntry(_ body: (String) throws -> Void) throws {
        var failure: (any Error)?
        try forEachName { name in
            guard failure == nil else { return }
            do { try body(name) } catch { failure = error }
        }
        if let failure { throw failure }
    }

    func folder(_ name: String) throws(CacheError) -> FileDescriptor {
        do throws(CacheError) {
            return try directory(name, create: true)
        } catch  where [ENOTDIR, ELOOP].contains(error.errno) {
            throw CacheError(
                .unusable, subject: path(of: name),
                message: "is not a directory, and links are not followed")
        }
    }

    /// Returns a file's status. Throws `.obstructed` for a directory or a name that is too long.
    func statusOfFile(_ name: String) throws(CacheError) -> stat? {
        func obstructed(_ message: String) -> CacheError {
            CacheError(.obstructed, subject: path(of: name), message: message)
        }
        do throws(CacheError) {
            let status = try status(of: name)
            if status?.isDirectory != true { return status }
        } catch  where error.errno == ENAMETOOLONG {
            throw obstructed("the name is too long for this file system")
        }
        throw obstructed("is a directory where the export needs a file")
    }

    func sizeOfFile(_ name: String) throws(CacheError) -> Int64? {
        do throws(CacheError) {
            guard let status = try status(of: name), status.isRegularFile else { return nil }
            return Int64(status.st_size)
        } catch  where error.errno == ENAMETOOLONG { return nil }
    }

    /// Whether the file is also found with the case of its ASCII letters swapped.
    func ignoresCase(of name: String) throws(CacheError) -> Bool {
        let swapped = name.utf8.map { (byte: UInt8) -> UInt8 in
            0x41...0x5A ~= byte & 0xDF ? byte ^ 0x20 : byte
        }
        return try status(of: String(decoding: swapped, as: UTF8.self)) != nil
    }

    /// Sets the modification date, and the access date to now. Returns false if another user owns
    /// the file.
    func setDates(modified: Date) throws(CacheError) -> Bool {
        let seconds = time_t(modified.timeIntervalSince1970)
        var times = [
            timespec(tv_sec: time(nil), tv_nsec: 0), timespec(tv_sec: seconds, tv_nsec: 0),
        ]
        if futimens(raw, &times) == 0 { return true }
        guard [EPERM, EACCES].contains(errno) else {
            throw CacheError("set times", subject: subject, errno: errno)
        }
        return false
    }
}
