import Foundation

/// The files of one cache, reached through directory descriptors alone.
///
/// Holds a `flock` on the root for as long as it lives; the kernel releases it.
final class CacheDirectory: Sendable {
    /// The root as the user named it, made absolute: for messages.
    let path: String
    /// The root's path for SQLite, which knows no descriptors. It is valid while `root` is open.
    let databases: String
    let root: FileDescriptor
    let isWritable: Bool
    let wait: LockWait
    /// Of all objects' files.
    let sparse = SparseBudget()

    /// The lock on the root.
    enum Lock {
        /// None: for what is neither an object's nor the index's.
        case none
        /// Beside everybody else's; who uses the index.
        case shared
        /// Nobody else's beside it; who replaces the index.
        case exclusive
    }

    /// Opens the cache at `path`, and makes it first if `create` is set.
    ///
    /// - Throws: ``CacheError`` `.missing` if there is none and `create` is not set, `.unusable`
    ///   if it is not a directory, cannot be entered, is refused by ``CacheRoot``, has a directory
    ///   or a database that another user could change, is something else's, or lies on a network
    ///   file system, `.locked` if another process holds its lock for longer than `wait`.
    ///
    /// - Parameter hasOwnIndex: whether the index of a directory is one of larder's.
    init(
        path: String, create: Bool, lock: Lock, wait: LockWait,
        hasOwnIndex: (CacheDirectory) -> Bool
    ) throws(CacheError) {
        self.wait = wait
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        (root, isWritable) = try CacheRoot.open(path, create: create)
        databases = root.pathForSQLite ?? path
        try Self.refuseNetwork(root)
        if isWritable { try CacheRoot.checkLevels(of: root) }
        guard try isCache(hasOwnIndex) || create else {
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
            // SQLite opens by path and would follow a link out of the root; and what is written to
            // a file of two names is written to the other, too, which may be a backup's.
            guard let status = try root.status(of: name) else { continue }
            guard status.isRegularFile else {
                throw CacheError(
                    .unusable, subject: "\(path)/\(name)", message: "is not a regular file")
            }
            guard status.st_nlink < 2 || !isWritable else {
                throw CacheError(
                    .unusable, subject: "\(path)/\(name)",
                    message: "has more than one name (hard links); put a copy in its place")
            }
        }
    }

    /// Makes a cache in a directory that this process has just made.
    ///
    /// - Parameter path: Its place, for messages.
    init(in directory: FileDescriptor, at path: String) throws(CacheError) {
        wait = .none
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

    /// The index's path, for messages.
    var indexPath: String { "\(path)/\(CacheLayout.index)" }

    /// The path of a run's own database, for SQLite.
    func path(of name: String, in run: RunDirectory) -> String {
        "\(databases)/\(CacheLayout.run(run.name, name))"
    }

    /// Removes what another program would act on that uses SQLite on the index, or an older larder.
    /// Best done: this one never looks at it.
    func removeForeignJournals() {
        for name in CacheLayout.foreignJournals
        where (try? root.status(of: name))??.isRegularFile == true {
            unlinkat(root.raw, name, 0)
        }
    }

    /// The directory `objects/sha256`; nil if the cache is empty and read-only.
    func objects(create: Bool = false) throws(CacheError) -> FileDescriptor {
        let objects = try root.directory(CacheLayout.objects, create: create)
        return try objects.directory(CacheLayout.algorithm, create: create)
    }

    /// The fan-out directory that `digest` belongs in.
    func fanOut(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        try objects().directory(CacheLayout.fanOut(digest))
    }

    /// The status of what is in an object's place; nil if nothing is.
    func status(of digest: Digest) throws(CacheError) -> stat? {
        do {
            return try fanOut(digest).status(of: digest.hex)
        } catch  where error.isAbsence {
            return nil
        }
    }

    /// The size of an object's file, if there is one and it is a regular file.
    func size(of digest: Digest) throws(CacheError) -> Int64? {
        try status(of: digest).flatMap { $0.isRegularFile ? Int64($0.st_size) : nil }
    }

    /// Whether there is a regular file of its size, or with its digest, in an object's place; one
    /// that is out of reach is none.
    func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        do {
            guard let found = try self.size(of: digest) else { return false }
            return found == size || isWhole(digest)
        } catch  where error.isOutOfReach {
            return false
        }
    }

    /// Whether a file has the digest: the index may state another size than the file's.
    private func isWhole(_ digest: Digest) -> Bool {
        let read = try? ObjectReader(sparse).digest(open(digest), expecting: digest)
        return read?.digest == digest
    }

    /// Whether each of some objects has a regular file of its size, or with its digest. Opens each
    /// fan-out directory once.
    func arePresent(
        _ objects: [(digest: Digest, size: Int64)]
    ) throws(CacheError) -> [Bool] {
        var arePresent = [Bool](repeating: false, count: objects.count)
        var others: [Int] = []
        try forEachStatus(of: objects.lazy.map(\.digest)) { index, status in
            arePresent[index] = Int64(status.st_size) == objects[index].size
            if !arePresent[index] { others.append(index) }
        }
        for index in others { arePresent[index] = isWhole(objects[index].digest) }
        return arePresent
    }

    /// Those of some objects that have no regular file.
    func absent(_ digests: [Digest]) throws(CacheError) -> [Digest] {
        var absent = Set(digests.indices)
        try forEachStatus(of: digests) { index, _ in absent.remove(index) }
        return absent.map { digests[$0] }
    }

    /// Calls `body` for those of some objects that have a regular file, one directory after
    /// another.
    private func forEachStatus(
        of digests: some Collection<Digest>, _ body: (Int, stat) -> Void
    ) throws(CacheError) {
        var groups: [[(Int, Digest)]] = Array(repeating: [], count: 256)
        for (index, digest) in digests.enumerated() {
            groups[Int(digest.leadingBits >> 56)].append((index, digest))
        }
        guard !digests.isEmpty else { return }
        do throws(CacheError) {
            let objects = try objects()
            for group in groups where !group.isEmpty {
                do throws(CacheError) {
                    let fanOut = try objects.directory(CacheLayout.fanOut(group[0].1))
                    for (index, digest) in group {
                        guard let status = try fanOut.status(of: digest.hex), status.isRegularFile
                        else { continue }
                        body(index, status)
                    }
                } catch  where error.isOutOfReach {
                    continue
                }
            }
        } catch  where error.isAbsence {
            return
        }
    }

    /// Opens an object for reading; a link or anything but a regular file is refused.
    ///
    /// - Throws: ``CacheError`` `.corrupt` if there is no such file.
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

    /// Holds other processes' openings of the index back for as long as the result lives. Waits for
    /// its turn without limit: an opening takes moments, unless it has an index to rebuild.
    ///
    /// A lock on `tmp/`, not on the index: closing any descriptor of that file would release
    /// SQLite's own locks (fcntl(2), "Advisory record locking").
    func openingLock() throws(CacheError) -> FileDescriptor {
        let temporary = try root.directory(CacheLayout.temporary, create: true)
        try wait.unlimited.take(LOCK_EX, on: temporary, subject: path) {
            "another process opens its index"
        }
        return temporary
    }

    /// How many entries `tmp/` has beside the partial bodies: runs that are under way, or leftovers
    /// of dead ones.
    func temporaries() throws(CacheError) -> Int {
        guard let temporary = try root.existingDirectory(CacheLayout.temporary) else { return 0 }
        return try temporary.names().count { $0 != CacheLayout.partial }
    }

    /// A damage of the index, unless the disk fails: pages that it did not take are dropped, and
    /// read as others.
    func judged(_ damage: CacheError) -> CacheError {
        guard damage.isDamage, isWritable else { return damage }
        guard fsync(root.raw) == 0 else { return CacheError("fsync", subject: path, errno: errno) }
        // XFS has nothing to sync in a directory that did not change, and does not say then that it
        // is shut down.
        do throws(CacheError) {
            try RunDirectory(in: self).remove()
        } catch  where error.code == .storage {
            return error
        } catch {}
        return damage
    }
}
