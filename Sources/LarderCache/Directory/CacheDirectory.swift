import Foundation

/// The files of one cache, reached through directory descriptors alone.
///
/// Holds a shared `flock` on the root for as long as it lives; the kernel releases it.
final class CacheDirectory: Sendable {
    /// The root as the user named it, made absolute: for messages and for SQLite alone.
    let path: String
    let root: FileDescriptor
    let isWritable: Bool

    /// Opens the cache at `path`, and makes it first if `create` is set.
    ///
    /// - Throws: ``CacheError`` `.missing` where there is none and `create` is not set, `.unusable`
    ///   where it is no directory, cannot be entered, or lies on a network file system.
    init(path: String, create: Bool) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        if create { try Self.makeDirectories(path) }
        let root: FileDescriptor
        do {
            root = try FileDescriptor.open(path, flags: O_RDONLY | O_DIRECTORY)
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: path, message: "there is no cache here")
        } catch {
            throw CacheError("open", subject: path, errno: error.errno ?? EIO)
        }
        self.root = root
        if let name = NetworkFileSystem.name(of: root) {
            throw CacheError(
                .unusable, subject: path,
                message: "lies on a network file system (\(name)), which cannot keep the cache's"
                    + " promises; choose a local directory")
        }
        isWritable = faccessat(root.raw, ".", W_OK, 0) == 0
        if create {
            guard isWritable else { throw CacheError("write", subject: path, errno: errno) }
            try Self.lay(out: root)
        }
        guard flock(root.raw, LOCK_SH | LOCK_NB) == 0 else {
            throw CacheError(
                .locked, subject: path, message: "another process holds the cache's exclusive lock")
        }
        for name in CacheLayout.indexFiles {
            // SQLite opens by path and would follow a link out of the root.
            if let status = try root.status(of: name), !status.isRegularFile {
                throw CacheError(
                    .unusable, subject: "\(path)/\(name)", message: "is not a regular file")
            }
        }
    }

    /// The index's path, for SQLite.
    var indexPath: String { "\(path)/\(CacheLayout.index)" }

    /// The directory `objects/sha256`; nil where the cache is empty and read-only.
    func objects(create: Bool = false) throws(CacheError) -> FileDescriptor {
        let objects = try FileDescriptor.directory(
            CacheLayout.objects, beneath: root, create: create)
        return try FileDescriptor.directory(CacheLayout.algorithm, beneath: objects, create: create)
    }

    /// The fan-out directory that `digest` belongs in.
    func fanOut(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        try FileDescriptor.directory(
            CacheLayout.fanOut(digest), beneath: try objects(), create: false)
    }

    /// The size of an object's file, if there is one and it is a regular file.
    func size(of digest: Digest) throws(CacheError) -> Int64? {
        do {
            let status = try fanOut(digest).status(of: digest.hex)
            return status.flatMap { $0.isRegularFile ? Int64($0.st_size) : nil }
        } catch  where error.isAbsence {
            return nil
        }
    }

    /// Opens an object for reading; a link or anything but a regular file is refused.
    ///
    /// - Throws: ``CacheError`` `.corrupt` where there is no such file.
    func open(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        let subject = "\(digest)"
        do {
            let file = try FileDescriptor.open(
                digest.hex, beneath: try fanOut(digest), flags: O_RDONLY | O_NONBLOCK)
            if try file.status(subject: subject).isRegularFile { return file }
        } catch  where error.errno == ENOENT {
            throw CacheError(.corrupt, subject: subject, message: "the object's file is missing")
        } catch  where error.isAbsence {
            // A link, or a file in a directory's place.
        }
        throw CacheError(.corrupt, subject: subject, message: "is not a regular file")
    }

    /// Holds other processes' openings of the index back for as long as the result lives.
    ///
    /// A lock on `tmp/`, not on the index: closing any descriptor of that file would release
    /// SQLite's own locks (fcntl(2), "Advisory record locking").
    func openingLock() throws(CacheError) -> FileDescriptor {
        let temporary = try FileDescriptor.directory(
            CacheLayout.temporary, beneath: root, create: true)
        while flock(temporary.raw, LOCK_EX) != 0 {
            guard errno == EINTR else {
                throw CacheError("lock", subject: CacheLayout.temporary, errno: errno)
            }
        }
        return temporary
    }

    /// How many entries `tmp/` has: runs that are under way, or leftovers of dead ones.
    func temporaries() throws(CacheError) -> Int {
        guard try root.status(of: CacheLayout.temporary) != nil else { return 0 }
        return try FileDescriptor.directory(CacheLayout.temporary, beneath: root, create: false)
            .names(subject: CacheLayout.temporary).count
    }

    /// Makes the root and what leads to it. By hand, because Foundation hides the error number that
    /// tells a full disk from a missing permission.
    private static func makeDirectories(_ path: String) throws(CacheError) {
        if mkdir(path, 0o777) == 0 { return }
        var number = errno
        if number == ENOENT {
            try makeDirectories((path as NSString).deletingLastPathComponent)
            if mkdir(path, 0o777) == 0 { return }
            number = errno
        }
        // What is there and is no directory is refused when it is opened.
        guard number == EEXIST else { throw CacheError("mkdir", subject: path, errno: number) }
    }

    private static func lay(out root: FileDescriptor) throws(CacheError) {
        for name in [CacheLayout.objects, CacheLayout.temporary] {
            _ = try FileDescriptor.directory(name, beneath: root, create: true)
        }
        let objects = try FileDescriptor.directory(
            CacheLayout.objects, beneath: root, create: false)
        _ = try FileDescriptor.directory(CacheLayout.algorithm, beneath: objects, create: true)
        try Durability.add(objects)
        try Durability.add(root)
        // Empty is what a killed process left; anybody else's tag stays.
        if let tag = try root.status(of: CacheLayout.tag), !tag.isRegularFile || tag.st_size > 0 {
            return
        }
        let tag = try FileDescriptor.open(
            CacheLayout.tag, beneath: root, flags: O_WRONLY | O_CREAT, mode: 0o666)
        var contents = CacheLayout.tagContents
        let result: Result<Void, CacheError> = contents.withUTF8 { bytes in
            Result { () throws(CacheError) in
                try tag.write(UnsafeRawBufferPointer(bytes), subject: CacheLayout.tag)
            }
        }
        try result.get()
    }
}
