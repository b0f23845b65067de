import Foundation
import LarderCore

/// A content-addressed cache directory: objects named by their SHA-256 digests, and an index of
/// the URLs that resolve to them.
///
/// Confined to its root, relocatable, disposable (deleting any of it costs downloads, never
/// correctness), and shared by any number of processes at once.
public final class Cache: Sendable {
    let directory: CacheDirectory
    let index: CacheIndex?
    /// Why there is no index although there should be; nil if it can be read.
    let damage: CacheError?
    /// Why it can only be read although its directory can be written.
    private let obstacle: CacheError?
    /// Whether it can only be read: its medium, its permissions or a full disk allow no more.
    public let isReadOnly: Bool
    /// How the index was rebuilt when it was opened; nil if it was sound.
    public let recovery: RecoveryReport?

    private init(
        directory: CacheDirectory, index: CacheIndex?, isReadOnly: Bool = false,
        damage: CacheError? = nil, obstacle: CacheError? = nil, recovery: RecoveryReport? = nil
    ) {
        self.directory = directory
        self.index = index
        self.damage = damage
        self.obstacle = obstacle
        self.isReadOnly = isReadOnly
        self.recovery = recovery
    }

    /// Opens the cache at `path` for reading and writing; makes it first if there is none, and
    /// rebuilds its index if that is damaged or gone. By default it does not wait for a
    /// ``reindex(at:wait:log:isCancelled:onProgress:)`` of another process.
    ///
    /// - Throws: ``CacheError``, also if the directory cannot be written.
    public static func create(
        at path: String, wait: LockWait = .none, log: CacheLog = .none
    ) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: true, wait: wait, log: log)
        var recovery = try IndexRecovery.runIfDue(in: directory)
        let index: CacheIndex
        do {
            index = try CacheIndex(of: directory)
        } catch  where error.code == .damaged {
            IndexRecovery.markDamage(in: directory)
            recovery = try IndexRecovery.runIfDue(in: directory) ?? recovery
            index = try CacheIndex(of: directory)
        }
        return Cache(directory: directory, index: index, recovery: recovery)
    }

    /// Rebuilds the index of the cache at `path`, on request: from itself if it is sound, else
    /// from its last snapshot, and from the objects in any case, each of which is read. By default
    /// it does not wait for other processes that use the cache.
    ///
    /// - Parameter isCancelled: called often. If it returns true, the rebuild ends within moments,
    ///   changes nothing, and the report says so. Default: never.
    /// - Throws: ``CacheError``, `.missing` if there is no cache, `.locked` if it is in use.
    public static func reindex(
        at path: String, wait: LockWait = .none, log: CacheLog = .none,
        isCancelled: @escaping @Sendable () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws(CacheError) -> RecoveryReport {
        // Not to make a cache of whatever directory was named.
        _ = try CacheDirectory(path: path, create: false, lock: .none)
        let directory = try CacheDirectory(
            path: path, create: true, lock: .exclusive, wait: wait, log: log)
        return try IndexRecovery(directory).rebuild(
            isCancelled: isCancelled, onProgress: onProgress)
    }

    /// Marks the index as damaged for the next writer. Returns the damage, or the disk's error.
    package func noteDamage(_ error: CacheError) -> CacheError {
        let error = directory.judged(error)
        guard error.isDamage else { return error }
        IndexRecovery.markDamage(in: directory)
        // Whoever joined the index with something else may not have known its name.
        return CacheError(.damaged, subject: directory.indexPath, message: error.message)
    }

    /// Opens the cache at `path` for reading. An empty directory reads as an empty one; one that
    /// cannot be written, or whose disk is full, is read without a trace. By default it does not
    /// wait for a ``reindex(at:wait:log:isCancelled:onProgress:)`` of another process.
    ///
    /// - Throws: ``CacheError``, `.missing` if there is no directory, or only something else in
    ///   it, `.damaged` if the index cannot be read, or is gone and objects are left.
    public static func open(
        at path: String, wait: LockWait = .none, log: CacheLog = .none
    ) throws(CacheError) -> Cache {
        try open(at: path, wait: wait, log: log, waitsForWriters: false)
    }

    /// - Parameter waitsForWriters: whether to wait for other writers, and not to read beside them.
    static func open(
        at path: String, wait: LockWait, log: CacheLog, waitsForWriters: Bool
    ) throws(CacheError) -> Cache {
        let directory = try CacheDirectory(path: path, create: false, wait: wait, log: log)
        guard try !IndexRecovery.isIndexGone(from: directory, waiting: directory.isWritable) else {
            throw CacheError(
                .damaged, subject: directory.indexPath,
                message: "is gone, and objects are left; larder reindex rebuilds it")
        }
        guard directory.isWritable else {
            return Cache(
                directory: directory, index: try CacheIndex(readOnly: directory), isReadOnly: true)
        }
        guard try directory.root.status(of: CacheLayout.index) != nil else {
            return Cache(directory: directory, index: nil)
        }
        do {
            let index = try CacheIndex(of: directory, patience: waitsForWriters ? nil : .seconds(1))
            return Cache(directory: directory, index: index)
        } catch  where error.code == .storage || error.code == .locked && !waitsForWriters {
            // SQLite needs room and its lock even to read; the cache can be read without.
            let index = try? CacheIndex(readOnly: directory, isBesideWriter: error.code == .locked)
            guard let index else { throw error }
            return Cache(directory: directory, index: index, isReadOnly: true, obstacle: error)
        }
    }

    /// Opens the cache at `path`, also with a damaged index. A repair waits for other writers.
    package static func openDamaged(
        at path: String, wait: LockWait = .none, log: CacheLog = .none, isForRepair: Bool = false
    ) throws(CacheError) -> Cache {
        do {
            return try open(at: path, wait: wait, log: log, waitsForWriters: isForRepair)
        } catch  where error.isDamage {
            let directory = try CacheDirectory(path: path, create: false, wait: wait, log: log)
            return Cache(
                directory: directory, index: nil, isReadOnly: !directory.isWritable, damage: error)
        }
    }

    /// The root's absolute path.
    public var path: String { directory.path }

    package func store() throws(CacheError) -> Store {
        try Store(directory: directory, index: requireWritable())
    }

    @discardableResult
    func requireWritable() throws(CacheError) -> CacheIndex {
        guard let index, !isReadOnly else { throw refusal }
        return index
    }

    private var refusal: CacheError {
        if let obstacle { return obstacle }
        guard faccessat(directory.root.raw, ".", W_OK, 0) != 0 else {
            return CacheError(.unusable, subject: path, message: "the cache is read-only")
        }
        return CacheError("write", subject: path, errno: errno)
    }

    /// Ends the use of the index, whoever else still holds this cache: without other processes it
    /// is one file from now on, and may be copied. Everything that follows fails.
    public func close() { index?.close() }

    /// The absolute path of an object's file.
    public func absolutePath(of digest: Digest) -> String {
        "\(directory.path)/\(CacheLayout.path(digest))"
    }

    /// Whether an object's file is there, and has the size that the index states or the digest.
    /// Only a file of another size is read.
    public func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        try directory.isPresent(digest, size: size)
    }

    /// Returns the object with the size of its file, which may differ from the index's.
    package func sized(_ object: StoredObject) -> StoredObject {
        var object = object
        if let size = try? directory.size(of: object.digest) { object.size = size }
        return object
    }

    package var presence: ObjectPresence { ObjectPresence(in: directory) }

    /// Returns the bytes of an object. Throws ``CacheError`` `.corrupt` if they are gone or wrong.
    public func bytes(of object: StoredObject) throws(CacheError) -> [UInt8] {
        Array(try data(of: sized(object), unlessKnown: nil).data)
    }

    /// The same, with the file's identity. The bytes of a `known` file are not compared again.
    package func data(
        of object: StoredObject, unlessKnown known: FileIdentity?
    ) throws(CacheError) -> (data: Data, file: FileIdentity) {
        let (file, status) = try openFile(of: object)
        let identity = FileIdentity(status)
        let isKnown = identity == known
        // Before the bytes are allocated: the size may be that of a hole.
        let excess = isKnown ? 0 : try directory.sparse.take(status, of: file.subject)
        var data = Data(count: Int(object.size))
        let read = data.withUnsafeMutableBytes { room -> Result<Void, CacheError> in
            Result { () throws(CacheError) in
                guard try file.read(at: 0, into: room) == room.count else {
                    throw Self.otherSize(object)
                }
                guard isKnown || Digest(of: UnsafeRawBufferPointer(room)) == object.digest else {
                    throw Self.otherDigest(object.digest)
                }
            }
        }
        try read.get()
        directory.sparse.giveBack(excess)
        return (data, identity)
    }

    /// Returns an object's file, and its identity before the bytes are read.
    package func open(
        _ object: StoredObject
    ) throws(CacheError) -> (file: FileDescriptor, identity: FileIdentity) {
        let (file, status) = try openFile(of: object)
        return (file, FileIdentity(status))
    }

    package func reader() -> ObjectReader { ObjectReader(directory.sparse) }

    private func openFile(
        of object: StoredObject
    ) throws(CacheError) -> (file: FileDescriptor, status: stat) {
        let file = try openFile(object.digest)
        let status = try file.status()
        guard status.st_size == object.size else { throw Self.otherSize(object) }
        return (file, status)
    }

    /// Opens an object's file, whatever its size. Throws `.corrupt` if it is gone.
    func openFile(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        do {
            return try directory.open(digest)
        } catch  where error.code == .corrupt {
            guard try index?.object(digest) == nil else { throw error }
            throw CacheError(.corrupt, subject: "\(digest)", message: "was evicted meanwhile")
        }
    }

    static func otherDigest(_ digest: Digest) -> CacheError {
        CacheError(.corrupt, subject: "\(digest)", message: "the bytes have another digest")
    }

    private static func otherSize(_ object: StoredObject) -> CacheError {
        CacheError(.corrupt, subject: "\(object.digest)", message: "the file has another size")
    }

    /// Records uses of at most ``ObjectUse/stepLimit`` objects that are due, best in the order of
    /// their rows: then a million uses change each page of the index once.
    package func recordUse(of objects: [IndexedObject]) throws(CacheError) {
        precondition(objects.count <= ObjectUse.stepLimit, "others would wait too long")
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

    /// What the cache holds.
    public func status() throws(CacheError) -> CacheStatus {
        try CacheStatus(of: directory, index: index)
    }

    /// Re-reads objects and checks rows. Changes only the note of where it stopped, if its duration
    /// is limited. Calls `onProgress` a few times a second, from any thread, and at the end.
    ///
    /// - Parameter options: What is read. Default: every byte of every object.
    public func verify(
        _ options: VerifyOptions = VerifyOptions(),
        onProgress: @escaping @Sendable (ObjectProgress) -> Void = { _ in }
    ) throws(CacheError) -> VerifyReport {
        try Verifier(
            directory: directory, index: index, damage: damage, options: options,
            onProgress: onProgress
        ).run()
    }

    /// Repairs what needs no network, notes it in `report`, and returns the resources to fetch.
    package func repair(
        _ report: inout VerifyReport, isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> [DroppedResource] {
        if let damage { throw damage }
        guard !isReadOnly, directory.isWritable else { throw refusal }
        guard let index else { return [] }
        return try Repairer(directory: directory, index: index)
            .repair(&report.findings, isCancelled: isCancelled)
    }
}
