import Foundation
import LarderCore

/// A content-addressed cache directory: objects named by their SHA-256 digests, and an index that
/// maps URLs to them.
///
/// A cache never accesses files outside its root, and can be moved. Deleting any part of it costs
/// downloads, never correctness. Any number of processes can use it at the same time.
public final class Cache: Sendable {
    let directory: CacheDirectory
    let index: CacheIndex?
    let damage: CacheError?
    private let obstacle: CacheError?
    /// Whether the medium, permissions, a full disk or another writer prevents writing.
    public var isReadOnly: Bool { obstacle != nil || !directory.isWritable }
    /// The result of rebuilding the index when the cache was opened; nil if it was not rebuilt.
    public let recovery: RecoveryReport?

    private init(
        directory: CacheDirectory, index: CacheIndex?, damage: CacheError? = nil,
        obstacle: CacheError? = nil, recovery: RecoveryReport? = nil
    ) {
        (self.directory, self.index, self.damage) = (directory, index, damage)
        (self.obstacle, self.recovery) = (obstacle, recovery)
    }

    /// Opens the cache at `path` for reading and writing. Creates a missing cache, and rebuilds a
    /// damaged or missing index. By default, does not wait for a reindex.
    ///
    /// - Throws: A ``CacheError``, for example if the directory is not writable.
    public static func create(
        at path: String, wait: LockWait = .none, log: CacheLog = .none
    ) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: true, wait: wait, log: log)
        var recovery = try IndexRecovery.runIfDue(in: directory)
        let index: CacheIndex
        do { index = try CacheIndex(of: directory) } catch  where error.code == .damaged {
            IndexRecovery.markDamage(in: directory)
            recovery = try IndexRecovery.runIfDue(in: directory) ?? recovery
            index = try CacheIndex(of: directory)
        }
        return Cache(directory: directory, index: index, recovery: recovery)
    }

    /// Reads all objects and rebuilds the index. URLs come from the current index, or from its last
    /// snapshot if the index is damaged. By default, does not wait for other processes.
    ///
    /// - Parameters:
    ///   - describe: Returns the media type and dimensions of an image, or nil if the bytes are not
    ///     an image. Called with objects of at most 16 MiB whose dimensions are not in the index.
    ///     Default: always nil.
    ///   - isCancelled: Called often. Returning true stops the rebuild without changes. Default:
    ///     never.
    /// - Throws: A ``CacheError``: `.missing` if `path` has no cache, `.locked` if it is in use.
    public static func reindex(
        at path: String, wait: LockWait = .none, log: CacheLog = .none,
        describe: (([UInt8]) -> ObjectAttributes?)? = nil,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws(CacheError) -> RecoveryReport {
        // Throws if the cache is missing, because the next call would create it.
        _ = try CacheDirectory(path: path, create: false, lock: .none)
        let directory = try CacheDirectory(
            path: path, create: true, lock: .exclusive, wait: wait, log: log)
        return try IndexRecovery(directory).rebuild(
            describe: describe, isCancelled: isCancelled, onProgress: onProgress)
    }

    /// Requests a rebuild if the error means that the index is damaged. If the disk is failing,
    /// only returns the disk's error.
    package func noteDamage(_ error: CacheError) -> CacheError {
        let error = directory.judged(error)
        guard error.isDamage else { return error }
        IndexRecovery.markDamage(in: directory)
        // The error of a query that joins two databases may name the other database.
        return CacheError(.damaged, subject: directory.indexPath, message: error.message)
    }

    /// Opens the cache at `path` for reading. An empty directory is an empty cache. If the
    /// directory is not writable or the disk is full, changes nothing in it. By default, does not
    /// wait for a reindex.
    ///
    /// - Throws: A ``CacheError``: `.missing` if the directory does not exist or is not a cache,
    ///   `.damaged` if the index is unreadable, or missing although there are objects.
    public static func open(
        at path: String, wait: LockWait = .none, log: CacheLog = .none
    ) throws(CacheError) -> Cache {
        try open(at: path, wait: wait, log: log, waitsForWriters: false)
    }

    package static func isUnwritable(at path: String) -> Bool {
        (try? CacheDirectory(path: path, create: false, lock: .none))?.isWritable == false
    }

    static func open(
        at path: String, wait: LockWait, log: CacheLog, waitsForWriters: Bool
    ) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: false, wait: wait, log: log)
        guard try !IndexRecovery.isIndexGone(from: directory, waiting: directory.isWritable) else {
            throw CacheError(
                .damaged, subject: directory.indexPath,
                message: "is missing although there are objects; to rebuild it:"
                    + " \(Suggestion.command("reindex"))")
        }
        guard directory.isWritable else {
            return Cache(directory: directory, index: try CacheIndex(readOnly: directory))
        }
        guard try directory.root.status(of: CacheLayout.index) != nil else {
            return Cache(directory: directory, index: nil)
        }
        do {
            let index = try CacheIndex(of: directory, patience: waitsForWriters ? nil : .seconds(1))
            return Cache(directory: directory, index: index)
        } catch  where error.code == .storage || error.code == .locked && !waitsForWriters {
            // SQLite needs disk space and a lock to open an index for writing.
            let index = try? CacheIndex(readOnly: directory, isBesideWriter: error.code == .locked)
            guard let index else { throw error }
            return Cache(directory: directory, index: index, obstacle: error)
        }
    }

    package static func openDamaged(
        at path: String, wait: LockWait = .none, log: CacheLog = .none, isForRepair: Bool = false
    ) throws(CacheError) -> Cache {
        do {
            return try open(at: path, wait: wait, log: log, waitsForWriters: isForRepair)
        } catch  where error.isDamage {
            let directory = try CacheDirectory(path: path, create: false, wait: wait, log: log)
            return Cache(directory: directory, index: nil, damage: error)
        }
    }

    /// The absolute path of the root.
    public var path: String { directory.path }

    package func store() throws(CacheError) -> Store {
        try Store(directory: directory, index: requireWritable())
    }

    @discardableResult func requireWritable() throws(CacheError) -> CacheIndex {
        guard let index, !isReadOnly else { throw readOnlyError }
        return index
    }

    private var readOnlyError: CacheError {
        if let obstacle { return obstacle }
        guard faccessat(directory.root.raw, ".", W_OK, 0) != 0 else {
            return CacheError(unusable: path, "the cache is read-only")
        }
        return CacheError("write", subject: path, errno: errno)
    }

    /// Closes the index. Later calls fail. The last process to close it leaves a single file.
    public func close() { index?.close() }

    /// Returns the absolute path of an object's file.
    public func absolutePath(of digest: Digest) -> String {
        "\(directory.path)/\(CacheLayout.path(digest))"
    }

    /// Whether an object's file exists and has this size or the right digest.
    public func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        try directory.isPresent(digest, size: size)
    }

    package func sized(_ object: StoredObject) -> StoredObject {
        var object = object
        if let size = try? directory.size(of: object.digest) { object.size = size }
        return object
    }

    package var presence: ObjectPresence { ObjectPresence(in: directory) }

    /// Returns an object's bytes.
    ///
    /// - Throws: A ``CacheError``: `.corrupt` if the file is missing or its digest is wrong.
    public func bytes(of object: StoredObject) throws(CacheError) -> [UInt8] {
        Array(try data(of: sized(object), unlessKnown: nil).data)
    }

    /// Returns an object's bytes. Does not check the digest if the file's identity is `known`.
    package func data(
        of object: StoredObject, unlessKnown known: FileIdentity?
    ) throws(CacheError) -> (data: Data, file: FileIdentity) {
        let (file, status) = try open(object)
        let identity = FileIdentity(status)
        let isKnown = identity == known
        // The budget is checked before allocation, because a sparse file can have any size.
        let excess = isKnown ? 0 : try directory.sparse.take(status, of: file.subject)
        var data = Data(count: Int(object.size))
        let read = data.withUnsafeMutableBytes { room in
            Result { () throws(CacheError) in try file.read(at: 0, into: room) }
        }
        guard try read.get() == data.count else { throw Self.otherSize(object) }
        guard isKnown || Digest(of: data) == object.digest else {
            throw Self.otherDigest(object.digest)
        }
        directory.sparse.settle(excess)
        return (data, identity)
    }

    package func reader() -> ObjectReader { ObjectReader(directory.sparse) }

    package func open(
        _ object: StoredObject
    ) throws(CacheError) -> (file: FileDescriptor, status: stat) {
        let file = try openFile(object.digest)
        let status = try file.status()
        guard status.st_size == object.size else { throw Self.otherSize(object) }
        return (file, status)
    }

    func openFile(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        do { return try directory.open(digest) } catch  where error.code == .corrupt {
            guard try index?.object(digest) == nil else { throw error }
            throw CacheError(corrupt: digest, "was evicted while in use")
        }
    }

    static func otherDigest(_ digest: Digest) -> CacheError {
        CacheError(corrupt: digest, "the bytes have a different digest")
    }

    private static func otherSize(_ object: StoredObject) -> CacheError {
        CacheError(corrupt: object.digest, "the file does not have the expected size")
    }

    package func recordUse(of objects: [IndexedObject]) throws(CacheError) {
        precondition(objects.count <= ObjectUse.stepLimit, "too many objects for one transaction")
        guard let index, !isReadOnly else { return }
        try index.writeStep { try ObjectUse.record(objects, at: Date(), in: $0) }
    }

    package func noteUse(of object: StoredObject) {
        if ObjectUse.isDue(object.usedAt) { noteUse(of: [object.digest]) }
    }

    package func noteUse(of objects: [Digest]) {
        guard let index, !isReadOnly else { return }
        try? index.writeInPassing { try ObjectUse.record(objects, at: Date(), in: $0) }
    }

    /// Counts the contents of the cache.
    public func status() throws(CacheError) -> CacheStatus {
        try CacheStatus(of: directory, index: index)
    }

    /// Compares objects with their digests and index rows. Writes only the position of a
    /// time-limited verification.
    ///
    /// - Parameters:
    ///   - options: By default, every byte of every object is verified.
    ///   - onProgress: Called a few times a second from any thread, and at the end.
    public func verify(
        _ options: VerifyOptions = VerifyOptions(),
        onProgress: @escaping @Sendable (ObjectProgress) -> Void = { _ in }
    ) throws(CacheError) -> VerifyReport {
        try Verifier(
            directory: directory, index: index, damage: damage, options: options,
            onProgress: onProgress
        ).run()
    }

    package func repair(
        _ report: inout VerifyReport, isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> [DroppedResource] {
        if let damage { throw damage }
        guard !isReadOnly else { throw readOnlyError }
        guard let index else { return [] }
        return try Repairer(directory: directory, index: index, reader: reader())
            .repair(&report.findings, isCancelled: isCancelled)
    }
}

/// The contents of a cache, as counts and sizes.
public struct CacheStatus: Sendable {
    /// The absolute path of the root.
    public let path: String
    /// The counts from the index.
    public private(set) var totals = IndexTotals()
    /// The size of the index files in bytes.
    public private(set) var indexBytes: Int64 = 0
    /// The allocated disk space of the object files in bytes.
    public private(set) var diskBytes: Int64 = 0
    /// The number of entries in `tmp/`: runs in progress and leftovers.
    public private(set) var temporaries = 0
    /// The number of files in `quarantine/`.
    public private(set) var quarantined = 0
    /// The number of object directories without read permission, which ``diskBytes`` excludes.
    public private(set) var unreadable = 0
    package private(set) var runs: [RunRecord] = []

    init(of directory: CacheDirectory, index: CacheIndex?) throws(CacheError) {
        path = directory.path
        if let index { totals = try index.totals() }
        for name in CacheLayout.indexFiles {
            indexBytes += Int64(try directory.root.status(of: name)?.st_size ?? 0)
        }
        try ObjectTree(directory).walk(onRefusal: { _ in unreadable += 1 }) {
            (entry) throws(CacheError) in
            diskBytes += try entry.parent.status(of: entry.name)?.allocatedBytes ?? 0
        }
        temporaries = try directory.temporaries().count
        if try directory.root.status(of: CacheLayout.quarantine)?.isDirectory == true {
            quarantined = try directory.root.directory(CacheLayout.quarantine).names().count
        }
        runs = RunRecord.Command.allCases.compactMap { RunRecord.load($0, from: directory) }
    }
}
