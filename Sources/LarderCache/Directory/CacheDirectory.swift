import CLarderSystem
import Foundation
import LarderCore

/// The files of one cache, reached through directory descriptors only. Holds a `flock` on the root.
final class CacheDirectory: Sendable {
    let path: String
    /// The root's path for SQLite, which knows no descriptors. It is valid while `root` is open.
    let databases: String
    let root: FileDescriptor
    let isWritable: Bool
    let wait: LockWait
    let log: CacheLog
    let sparse = SparseBudget()

    /// The lock on the root: `shared` to use the index, `exclusive` to replace it.
    enum Lock { case none, shared, exclusive }

    /// Opens the cache at `path`, and creates it first if `create` is set. Refuses a directory that
    /// is something else's, that another user could change, or that lies on a network file system.
    init(
        path: String, create: Bool, lock: Lock = .shared, wait: LockWait = .none,
        log: CacheLog = .none
    ) throws(CacheError) {
        self.log = log
        let wait = wait.logged(in: log)
        self.wait = wait
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        (root, isWritable) = try CacheRoot.open(path, create: create)
        databases = root.pathForSQLite ?? path
        try Self.refuseNetwork(root)
        if isWritable { try CacheRoot.checkLevels(of: root) }
        guard try isCache() || create else {
            throw CacheError(.missing, subject: path, message: "there is no cache here")
        }
        if create {
            guard faccessat(root.raw, ".", W_OK, 0) == 0 else {
                throw CacheError("write", subject: path, errno: errno)
            }
            try layOut()
        }
        switch lock {
        case .none: break
        case .shared:
            try wait.take(LOCK_SH, on: root, subject: path) { "another process rebuilds its index" }
        case .exclusive:
            // Not by way of a shared one: two that want this would wait for each other.
            try wait.take(LOCK_EX, on: root, subject: path) { "another process uses the cache" }
        }
        for name in CacheLayout.databaseFiles {
            // SQLite would follow a link, and write to a second name, which may be a backup's.
            guard let status = try root.status(of: name) else { continue }
            let subject = "\(path)/\(name)"
            guard status.isRegularFile else {
                throw CacheError(.unusable, subject: subject, message: "is not a regular file")
            }
            guard status.st_nlink < 2 || !isWritable else {
                throw CacheError(
                    .unusable, subject: subject,
                    message: "has more than one name (hard links); put a copy in its place")
            }
        }
    }

    /// Makes a cache in a directory that this process has just made.
    init(in directory: FileDescriptor, at path: String) throws(CacheError) {
        wait = .none
        log = .none
        self.path = path
        try Ownership.check(directory.status(), of: path)
        root = try directory.reopened(as: path, isGuarded: true)
        isWritable = true
        databases = root.pathForSQLite ?? path
        try Self.refuseNetwork(root)
        // What was put into its place would be overwritten.
        guard try root.names().isEmpty else {
            throw CacheError(.unusable, subject: path, message: "was replaced while it was made")
        }
        try wait.take(LOCK_SH, on: root, subject: path) { "another process removes it" }
        try layOut()
    }

    deinit { root.unlock() }

    private static func refuseNetwork(_ root: FileDescriptor) throws(CacheError) {
        guard let name = NetworkFileSystem.name(of: root) else { return }
        throw CacheError(
            .unusable, subject: root.subject,
            message: "lies on a network file system (\(name)), which cannot keep the cache's"
                + " promises; choose a local directory")
    }

    var indexPath: String { "\(path)/\(CacheLayout.index)" }

    func path(of name: String, in run: RunDirectory) -> String {
        "\(databases)/\(CacheLayout.run(run.name, name))"
    }

    /// Removes files that other programs would act on. This version never looks at them.
    func removeForeignJournals() {
        for name in CacheLayout.foreignJournals
        where (try? root.status(of: name))??.isRegularFile == true {
            unlinkat(root.raw, name, 0)
        }
    }

    func objects(create: Bool = false) throws(CacheError) -> FileDescriptor {
        let objects = try root.directory(CacheLayout.objects, create: create)
        return try objects.directory(CacheLayout.algorithm, create: create)
    }

    func fanOut(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        try objects().directory(CacheLayout.fanOut(digest))
    }

    func status(of digest: Digest) throws(CacheError) -> stat? {
        do {
            return try fanOut(digest).status(of: digest.hex)
        } catch  where error.isAbsence { return nil }
    }

    func size(of digest: Digest) throws(CacheError) -> Int64? {
        try status(of: digest).flatMap { $0.isRegularFile ? Int64($0.st_size) : nil }
    }

    /// Whether an object's place has a regular file of its size, or with its digest.
    func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        do {
            guard let found = try self.size(of: digest) else { return false }
            return found == size || isWhole(digest)
        } catch  where error.isOutOfReach { return false }
    }

    func isWhole(_ digest: Digest) -> Bool {
        let read = try? ObjectReader(sparse).digest(open(digest), expecting: digest)
        return read?.digest == digest
    }

    /// Returns those of some objects that are not there. Does not check their directories again,
    /// which have just been opened.
    func absent(_ digests: some Collection<Digest>) throws(CacheError) -> Set<Digest> {
        guard !digests.isEmpty else { return [] }
        let objects: FileDescriptor
        do throws(CacheError) {
            objects = try self.objects()
        } catch  where error.isAbsence { return Set(digests) }
        var absent: Set<Digest> = []
        for digest in digests {
            let place = CacheLayout.place(digest)
            do throws(CacheError) {
                if try objects.status(of: place)?.isRegularFile == true { continue }
            } catch  where error.isOutOfReach {}
            absent.insert(digest)
        }
        return absent
    }

    /// Opens an object for reading. Throws `.corrupt` if there is no regular file.
    func open(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        let subject = "\(digest)"
        do {
            let file = try fanOut(digest).file(digest.hex)
            if try file.status().isRegularFile { return file }
        } catch  where error.errno == ENOENT {
            throw CacheError(.corrupt, subject: subject, message: "the object's file is missing")
        } catch  where error.isAbsence {
            // A link, or a file in a directory's place.
        }
        throw CacheError(.corrupt, subject: subject, message: "is not a regular file")
    }

    /// Holds other processes' openings of the index back while the result lives. Waits without
    /// limit. Locks `tmp/`: closing any descriptor of the index would release SQLite's locks
    /// (fcntl(2)).
    func openingLock() throws(CacheError) -> FileDescriptor {
        let temporary = try root.directory(CacheLayout.temporary, create: true)
        try wait.unlimited.take(LOCK_EX, on: temporary, subject: path) {
            "another process opens its index"
        }
        return temporary
    }

    /// The number of entries in `tmp/` besides partial bodies: runs in progress, or leftovers.
    func temporaries() throws(CacheError) -> Int {
        guard let temporary = try root.existingDirectory(CacheLayout.temporary) else { return 0 }
        return try temporary.names().count { $0 != CacheLayout.partial }
    }

    /// The disk's error if the disk fails, since lost pages read as damage; else the damage.
    func judged(_ damage: CacheError) -> CacheError {
        guard damage.isDamage, isWritable else { return damage }
        guard fsync(root.raw) == 0 else { return CacheError("fsync", subject: path, errno: errno) }
        // XFS syncs nothing in an unchanged directory, and so does not say that it is shut down.
        do throws(CacheError) {
            try RunDirectory(in: self).remove()
        } catch  where error.code == .storage {
            return error
        } catch {}
        return damage
    }

    /// Whether this is a cache or an empty directory. Throws `.unusable` if something else uses the
    /// names that larder would sweep or migrate.
    func isCache() throws(CacheError) -> Bool {
        if try isMarked() { return true }
        for name in CacheLayout.databaseFiles + [CacheLayout.temporary] {
            guard let status = try root.status(of: name) else { continue }
            if status.isDirectory {
                // As a process leaves it that is killed while it makes a cache.
                if try root.directory(name).names().isEmpty { continue }
            }
            // Another process may have made a cache here meanwhile.
            if try isMarked() { return true }
            throw CacheError(
                .unusable, subject: path,
                message: "is not a cache, and has something of its own called \(name); choose"
                    + " another directory")
        }
        let own = CacheLayout.ownNames.union(CacheLayout.databaseFiles)
        return try root.names().allSatisfy(own.contains)
    }

    /// Whether there is something that only larder leaves.
    private func isMarked() throws(CacheError) -> Bool {
        do throws(CacheError) {
            let objects = try root.directory(CacheLayout.objects)
            if try objects.status(of: CacheLayout.algorithm) != nil { return true }
        } catch  where error.isOutOfReach {}
        if try root.status(of: CacheLayout.snapshot) != nil { return true }
        let tag = Array(CacheLayout.tagContents.utf8)
        do throws(CacheError) {
            if try root.file(CacheLayout.tag).read(atMost: tag.count) == tag { return true }
        } catch  where error.isOutOfReach {}
        // SQLite would wait for ever to read a pipe.
        guard try root.status(of: CacheLayout.index)?.isRegularFile == true else { return false }
        return CacheIndex.isOwn(in: self)
    }

    func layOut() throws(CacheError) {
        let objects = try root.directory(CacheLayout.objects, create: true)
        _ = try root.directory(CacheLayout.temporary, create: true)
        _ = try objects.directory(CacheLayout.algorithm, create: true)
        try Durability.add(objects)
        try Durability.add(root)
        // Empty is what a killed process left; anybody else's tag stays.
        if let tag = try root.status(of: CacheLayout.tag),
            !tag.isRegularFile || tag.st_size > 0 || tag.st_nlink > 1
        {
            return
        }
        let tag = try root.createOrOpen(CacheLayout.tag)
        try tag.write(Array(CacheLayout.tagContents.utf8))
    }

    /// Replaces a small, expendable file in one step, without making it durable.
    func replace(
        _ name: String, beneath parent: FileDescriptor, with bytes: [UInt8]
    ) throws(CacheError) {
        let run = try RunDirectory(in: self)
        let staged = run.uniqueName()
        let file = try run.directory.create(staged)
        try file.write(bytes)
        try run.directory.rename(staged, to: parent, as: name)
    }

    /// Opens an object for reading, unless that takes the disk; nil if it does, if the system
    /// cannot tell (macOS, Linux before 5.12), or if there is no such file.
    func openAtOnce(_ digest: Digest) -> FileDescriptor? {
        #if os(Linux)
            let path = CacheLayout.path(digest)
            let raw = larder_open_cached(root.raw, path)
            guard raw >= 0 else { return nil }
            return FileDescriptor(taking: raw, subject: path)
        #else
            return nil
        #endif
    }
}
