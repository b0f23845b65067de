import Foundation
import GRDB
import LarderCore

extension Cache {
    /// Writes a consistent copy of the cache, even if other processes are using it. The copy is a
    /// cache with a single index file and can be opened on a read-only medium.
    ///
    /// - Parameters:
    ///   - path: The destination: a missing or empty directory.
    ///   - isCancelled: Called often. Returning true stops the copy and removes it. Default: never.
    /// - Throws: A ``CacheError``, for example `.unusable` if the destination is not empty or is
    ///   inside the cache. A `CancellationError` if cancelled.
    public func snapshot(
        to path: String, isCancelled: @escaping () -> Bool = { false },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws -> SnapshotReport {
        if let damage { throw damage }
        let start = ContinuousClock.now
        // The copy is written next to the destination, made durable, and renamed.
        let target = try SnapshotPlace(path, outside: directory)
        do {
            let copy = try CacheDirectory(in: target.staging, at: target.stagingPath)
            defer { withExtendedLifetime(copy) {} }
            var report = SnapshotReport()
            let draft = CacheLayout.index + ".draft"
            let database = try DatabaseFile(draft, in: copy).open(.making)
            // The index is copied first, so that it lists no object that is stored later.
            try index?.reading { try $0.copy(to: database, unless: isCancelled) }
            // In a damaged index, a cycle of pages would make reading endless.
            let complaints = try database.read { try $0.complaints(isQuick: true, limit: 1) }
            if let complaint = complaints.first { throw DatabaseError.corruption(complaint) }
            try database.writeWithoutTransaction {
                // The copied header requests a log, but a draft needs no journal.
                try $0.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA foreign_keys = ON")
                try IndexSchema.migrate($0)
            }
            try copyObjects(of: database, to: copy, &report, isCancelled, onProgress)
            report.resources = try database.read {
                try Int.fetchOne($0, sql: "SELECT count(*) FROM resources") ?? 0
            }
            if isCancelled() { throw CancellationError() }
            // On read-only media, the index must be a single file.
            try database.compact(into: DatabaseFile(CacheLayout.index, in: copy))
            try database.close()
            try copy.root.removeFile(draft)
            try Durability.add(copy.root.file(CacheLayout.index))
            try Durability.add(copy.root)
            try Durability.flush(copy.root)
            try target.publish()
            report.seconds = (ContinuousClock.now - start) / .seconds(1)
            return report
        } catch {
            target.discard()
            guard let failure = error as? DatabaseError else { throw error }
            throw CacheError(index: CacheLayout.index, failure)
        }
    }

    private func copyObjects(
        of database: DatabaseQueue, to copy: CacheDirectory, _ report: inout SnapshotReport,
        _ isCancelled: () -> Bool, _ onProgress: (ObjectProgress) -> Void
    ) throws {
        let reader = reader()
        let objects = try copy.objects()
        let start = ContinuousClock.now
        var progress = ObjectProgress()
        try database.write { db in
            progress.total = try Int.fetchOne(db, sql: "SELECT count(*) FROM objects")
            try db.execute(sql: "DELETE FROM damaged")
            let delete = try db.prepared("DELETE FROM objects WHERE digest = ?")
            let resize = try db.prepared("UPDATE objects SET size = ?2 WHERE digest = ?1")
            let rows = try db.prepared(
                "SELECT \(StoredObject.columns) FROM objects o ORDER BY o.digest")
            // A statement's current row can be changed or deleted (sqlite.org/isolation.html).
            try rows.forEach { row in
                if isCancelled() { throw CancellationError() }
                let object = try StoredObject(&row)
                let fanOut = CacheLayout.fanOut(object.digest)
                let parent = try objects.directory(fanOut, create: true)
                do {
                    let size = try copyBytes(of: object, into: parent, reader, isCancelled)
                    report.objects += 1
                    report.bytes += size
                    if size != object.size { try resize.run(object.digest, size) }
                } catch let error as CacheError
                    where error.code == .corrupt || error.code == .obstructed
                {
                    try delete.run(object.digest)
                    // An eviction deletes an object's row before its file.
                    if try index?.object(object.digest) == nil {
                        report.evicted += 1
                    } else if error.code == .corrupt {
                        report.damaged.append(object.digest)
                    } else {
                        report.unreadable.append(object.digest)
                    }
                }
                progress.objects += 1
                progress.bytes += object.size
                progress.seconds = (ContinuousClock.now - start) / .seconds(1)
                onProgress(progress)
            }
        }
        for name in try objects.names() { try Durability.add(objects.directory(name)) }
    }

    private func copyBytes(
        of object: StoredObject, into fanOut: FileDescriptor, _ reader: ObjectReader,
        _ isCancelled: () -> Bool
    ) throws -> Int64 {
        let file: FileDescriptor
        do throws(CacheError) { file = try directory.open(object.digest) } catch {
            guard [EACCES, EIO].contains(error.errno) else { throw error }
            throw CacheError(.obstructed, subject: error.subject, message: error.message)
        }
        let name = object.digest.hex
        let target = try fanOut.open(name, flags: O_WRONLY | O_CREAT | O_EXCL, mode: 0o600)
        var (isWhole, hasHoles) = (false, false)
        defer { if !isWhole { unlinkat(fanOut.raw, name, 0) } }
        let read = try reader.digest(file, expecting: object.digest, isCancelled: isCancelled) {
            (bytes) throws(CacheError) in
            // Holes are not written, because zeros could fill the disk.
            if bytes.contains(where: { $0 != 0 }) {
                try target.write(bytes)
            } else {
                hasHoles = true
                lseek(target.raw, off_t(bytes.count), SEEK_CUR)
            }
        }
        guard let read else { throw CancellationError() }
        isWhole = read.digest == object.digest
        guard isWhole else { throw Self.otherDigest(object.digest) }
        if hasHoles, ftruncate(target.raw, off_t(read.count)) != 0 { throw target.failure("write") }
        try target.setMode(0o444)
        try Durability.add(target)
        return read.count
    }
}

/// A snapshot's destination and the temporary directory next to it, both accessed by descriptor,
/// because the parent's owner can replace them at any time.
struct SnapshotPlace {
    private let path: String
    private let name: String
    private let parent: FileDescriptor
    private let stagingName: String
    /// The temporary directory, locked while it is open. Killed processes leave unlocked ones.
    let staging: FileDescriptor
    let stagingPath: String

    init(_ path: String, outside source: CacheDirectory) throws(CacheError) {
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        name = path.lastName
        let folder = path.parentDirectory
        func refusal(_ message: String) -> CacheError { CacheError(unusable: path, message) }
        do throws(CacheError) {
            parent = try UsersPath(folder).directory()
        } catch  where error.errno == ENOENT {
            throw CacheError(.missing, subject: folder, message: "the directory does not exist")
        }
        if try parent.lies(in: source.root) {
            throw refusal("is inside the cache; choose another directory")
        }
        if let status = try parent.status(of: name) {
            guard try status.st_dev == parent.status().st_dev else {
                throw refusal("is a mount point; choose a directory inside it")
            }
            guard status.isDirectory else { throw refusal("already exists and is not a directory") }
            guard try parent.directory(name).names().isEmpty else {
                throw refusal("already exists and is not empty; choose a new directory")
            }
        }
        try Self.sweep(name, beneath: parent)
        // The lock is shared, because opening the new cache takes another shared lock.
        (stagingName, staging) = try parent.makeLockedDirectory(LOCK_SH) { [name] in
            let serial = String(UInt64.random(in: .min ... .max), radix: 36)
            return ".\(name).\(serial)\(Self.suffix)"
        }
        stagingPath = "\(folder)/\(stagingName)"
    }

    private static let suffix = ".partial"

    private static func sweep(_ name: String, beneath parent: FileDescriptor) throws(CacheError) {
        for staging in try parent.names() {
            let start = ".\(name)."
            let serial = Substring(
                staging.utf8.dropFirst(start.utf8.count).dropLast(suffix.utf8.count))
            guard UInt64(serial, radix: 36) != nil,
                (start + serial + suffix).utf8.elementsEqual(staging.utf8),
                let left = parent.lockAbandoned(staging),
                try left.status().st_uid == geteuid()
            else { continue }
            parent.remove(left, named: staging)
        }
    }

    func publish() throws(CacheError) {
        func confirm(_ name: String) throws(CacheError) {
            guard try parent.has(staging, as: name) else {
                throw CacheError(
                    unusable: "\(path.parentDirectory)/\(name)",
                    "was moved or replaced while the copy was made")
            }
        }
        try confirm(stagingName)
        // rename(2) replaces an empty directory, but no other file.
        guard renameat(parent.raw, stagingName, parent.raw, name) == 0 else {
            throw CacheError("rename", subject: path, errno: errno)
        }
        try confirm(name)
        guard fsync(parent.raw) == 0 else { throw CacheError("fsync", subject: path, errno: errno) }
    }

    func discard() { parent.remove(staging, named: stagingName) }
}

/// The contents of a snapshot, and the objects that it lacks.
public struct SnapshotReport: Sendable, Equatable {
    /// The number of copied objects, all with correct digests.
    public internal(set) var objects = 0
    /// The size of the copied objects in bytes.
    public internal(set) var bytes: Int64 = 0
    /// The number of resources of copied objects.
    public internal(set) var resources = 0
    /// The number of objects evicted before they could be copied.
    public internal(set) var evicted = 0
    /// Damaged objects, which are not copied.
    public internal(set) var damaged: [Digest] = []
    /// Unreadable objects, which are not copied. Their bytes may be intact.
    public internal(set) var unreadable: [Digest] = []
    /// The duration in seconds.
    public internal(set) var seconds: Double = 0

    /// Whether no object is damaged or unreadable.
    public var hasAllObjects: Bool { damaged.isEmpty && unreadable.isEmpty }
}
