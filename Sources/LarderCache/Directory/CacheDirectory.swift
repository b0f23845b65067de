import Foundation
import LarderCore

/// An open cache directory, whose root is locked with flock(2).
final class CacheDirectory: Sendable {
    let path: String
    /// The root's path for SQLite, valid while `root` is open.
    let databases: String
    let root: FileDescriptor
    let isWritable: Bool
    let wait: LockWait
    let log: CacheLog
    let sparse = SparseBudget()

    init(opening path: String, create: Bool, wait: LockWait, log: CacheLog) throws(CacheError) {
        self.log = log
        var logged = wait
        logged.onWait = {
            log(.info, $0)
            wait.onWait($0)
        }
        self.wait = logged
        let path = URL(fileURLWithPath: path).standardizedFileURL.path
        self.path = path
        (root, isWritable) = try CacheRoot.open(path, create: create)
        databases = root.pathForSQLite ?? path
        try NetworkFileSystem.refuse(root)
        if isWritable { try CacheRoot.checkLevels(of: root) }
    }

    init(in directory: FileDescriptor, at path: String) throws(CacheError) {
        (wait, log, self.path) = (.none, .none, path)
        try Ownership.check(directory.status(), of: path)
        root = try directory.reopened(as: path, isGuarded: true)
        isWritable = true
        databases = root.pathForSQLite ?? path
        try NetworkFileSystem.refuse(root)
        guard try root.names().isEmpty else {
            throw CacheError(unusable: path, "was replaced while larder created it")
        }
        try wait.take(LOCK_SH, on: root, subject: path) { "another process is removing it" }
        try layOut()
    }

    deinit { root.unlock() }

    var indexPath: String { "\(path)/\(CacheLayout.index)" }

    func path(of name: String, in run: RunDirectory) -> String {
        "\(databases)/\(CacheLayout.run(run.name, name))"
    }

    /// Removes unused journals, because SQLite in other programs would apply them.
    func removeForeignJournals() {
        for name in CacheLayout.foreignJournals { root.removeIfRegular(name) }
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

    func isPresent(_ digest: Digest, size: Int64) throws(CacheError) -> Bool {
        do {
            guard let found = try self.size(of: digest) else { return false }
            return found == size || isWhole(digest)
        } catch  where error.isOutOfReach { return false }
    }

    func isWhole(_ digest: Digest) -> Bool {
        (try? ObjectReader(sparse).digest(open(digest), expecting: digest))?.digest == digest
    }

    func open(_ digest: Digest) throws(CacheError) -> FileDescriptor {
        do {
            let file = try fanOut(digest).file(digest.hex)
            if try file.status().isRegularFile { return file }
        } catch  where error.errno == ENOENT {
            throw CacheError(corrupt: digest, "the object's file is missing")
        } catch  where error.isAbsence {
            // The path has a link, or a file in place of a directory.
        }
        throw CacheError(corrupt: digest, "is not a regular file")
    }

    /// Prevents other processes from opening the index. Locks `tmp/`, not the index, because
    /// closing a descriptor of the index would release SQLite's locks (fcntl(2)).
    func openingLock() throws(CacheError) -> FileDescriptor {
        let temporary = try root.directory(CacheLayout.temporary, create: true)
        try wait.unlimited.take(LOCK_EX, on: temporary, subject: path) {
            "another process is opening the index"
        }
        return temporary
    }

    func temporaries() throws(CacheError) -> [(parent: FileDescriptor, name: String)] {
        guard try root.status(of: CacheLayout.temporary) != nil else { return [] }
        let parent = try root.directory(CacheLayout.temporary)
        return try parent.names().filter { $0 != CacheLayout.partial }.map { (parent, $0) }
    }

    /// Returns the disk's error if the disk is failing, because lost pages look like damage.
    /// Otherwise, returns `damage`.
    func judged(_ damage: CacheError) -> CacheError {
        guard damage.isDamage, isWritable else { return damage }
        guard fsync(root.raw) == 0 else { return CacheError("fsync", subject: path, errno: errno) }
        // On a shut-down XFS, fsync of an unchanged directory succeeds, but mkdir fails.
        do throws(CacheError) { try RunDirectory(in: self).remove() } catch {
            if error.code == .storage { return error }
        }
        return damage
    }

    func layOut() throws(CacheError) {
        let objects = try root.directory(CacheLayout.objects, create: true)
        _ = try root.directory(CacheLayout.temporary, create: true)
        _ = try objects.directory(CacheLayout.algorithm, create: true)
        try Durability.add(objects)
        try Durability.add(root)
        // A process killed during creation leaves an empty tag. Another program's tag is kept.
        let tag = try root.status(of: CacheLayout.tag)
        if let tag, !tag.isRegularFile || tag.st_size > 0 || tag.st_nlink > 1 { return }
        try root.createOrOpen(CacheLayout.tag).write(Array(CacheLayout.tagContents.utf8))
    }

    /// Replaces an expendable file atomically but not durably.
    func replace(_ name: String, in parent: FileDescriptor, _ bytes: [UInt8]) throws(CacheError) {
        let run = try RunDirectory(in: self)
        let staged = run.uniqueName()
        try run.directory.create(staged).write(bytes)
        try run.directory.rename(staged, to: parent, as: name)
    }

    /// Creates a file that reserves space. On a full disk, an eviction removes it first, to make
    /// room for SQLite's log.
    func takeReserve() {
        #if !canImport(Darwin)
            guard let index = try? root.status(of: CacheLayout.index),
                let space = try? DiskSpace(of: root)
            else { return }
            let size = max(1 << 20, min(2 * Int64(index.st_size), 4 << 20))
            guard space.free >= 16 * size else { return }
            let old = try? root.status(of: CacheLayout.reserve)
            if let old, !old.isRegularFile || old.st_nlink > 1 || old.allocatedBytes >= size {
                return
            }
            let file = try? root.createOrOpen(CacheLayout.reserve, mode: 0o600)
            // Reserves blocks, except on file systems that copy on write.
            if let file, posix_fallocate(file.raw, 0, off_t(size)) != 0 {
                root.removeIfRegular(CacheLayout.reserve)
            }
        #endif
    }

    func oldestRunStart(except own: String?) throws(CacheError) -> Date? {
        var oldest: UInt64?
        for (parent, name) in try temporaries() where name != own {
            let parts = name.split(separator: "-")
            guard parts.count == 3, parts[0] == "run", let start = UInt64(parts[1], radix: 36),
                parent.lockAbandoned(name) == nil, try parent.status(of: name) != nil
            else { continue }
            oldest = min(oldest ?? start, start)
        }
        return oldest.map { Date(timeIntervalSince1970: Double($0) / 1000) }
    }

    @discardableResult func sweepRuns(isDryRun: Bool = false) throws(CacheError) -> ObjectTally {
        var swept = ObjectTally()
        for (parent, name) in try temporaries() where name.hasPrefix("run-") {
            guard let run = parent.lockAbandoned(name) else { continue }
            let removed = try parent.removeTree(name, isDryRun: isDryRun)
            withExtendedLifetime(run) {}
            if removed.isGone { swept.count += 1 }
            swept.bytes += removed.bytes
        }
        return swept
    }

    static func isQuarantined(_ name: String) -> Bool {
        let parts = name.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, UInt64(parts[1], radix: 36) != nil else { return false }
        let former = String(parts[0])
        return Digest(hex: former)?.hex == former || former.isHex(2)
    }

    /// Moves a bad file to `quarantine/`. Returns its new path, or nil if it is gone or replaced.
    func quarantine(
        _ name: String, from parent: FileDescriptor, inode: ino_t
    ) throws(CacheError) -> String? {
        let quarantine = try root.directory(CacheLayout.quarantine, create: true)
        guard try parent.status(of: name)?.st_ino == inode else { return nil }
        let target = "\(name)-\(String(UInt64.random(in: .min ... .max), radix: 36))"
        guard renameat(parent.raw, name, quarantine.raw, target) == 0 else {
            if errno == ENOENT { return nil }
            throw parent.failure("rename", of: name)
        }
        guard try quarantine.status(of: target)?.st_ino == inode else {
            try quarantine.rename(target, to: parent, as: name)
            return nil
        }
        let place = "\(CacheLayout.quarantine)/\(target)"
        log(.warning, "moved \(parent.path(of: name)) to \(place)")
        return place
    }
}
