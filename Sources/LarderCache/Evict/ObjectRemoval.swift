import Foundation
import GRDB
import LarderCore

/// Removes object files that no row mentions, within a write transaction, which keeps any row from
/// being added meanwhile.
final class ObjectRemoval {
    /// Opened at the beginning, and not when rows are gone already.
    private let objects: FileDescriptor?
    /// Why files are left whose directory cannot be entered; nil if none is.
    private(set) var failure: CacheError?

    /// - Throws: ``CacheError`` if the directory of objects cannot be opened; one that is not there
    ///   has no files.
    init(_ directory: CacheDirectory) throws(CacheError) {
        do throws(CacheError) {
            objects = try directory.objects()
        } catch  where error.isAbsence {
            objects = nil
        }
    }

    /// How many are looked up before any is removed.
    private static let filesPerStep = 512
    /// More threads than cores, since they wait for the disk: ext4 on a virtual disk removed 9,000
    /// files a second on one, 18,000 on four, 28,000 on eight.
    private static let mostThreads = 8
    /// Fewer files than this are not worth a thread.
    private static let filesPerThread = 16
    private var threads = ObjectRemoval.mostThreads

    /// Removes the files of those objects that have no row, once that is durable; a directory after
    /// the other, a step at a time: in an order that knows no directories a file system takes
    /// several times as long. What is not a regular file is not the cache's own, and stays.
    ///
    /// - Parameters:
    ///   - isRemovable: has the last word on a file; called on several threads. Default: every one
    ///     is.
    ///   - isCancelled: whether to leave the rest. Default: never.
    /// - Returns: what was removed.
    @discardableResult
    func removeFiles(
        of digests: [Digest], in index: CacheIndex,
        where isRemovable: @escaping @Sendable (stat) -> Bool = { _ in true },
        unless isCancelled: () -> Bool = { false }
    ) throws(CacheError) -> ObjectTally {
        var removed = ObjectTally()
        guard !digests.isEmpty, let objects else { return removed }
        try index.syncLog()
        let groups = Dictionary(grouping: digests) { $0.leadingBits >> 56 }
        var rest = groups.keys.sorted().flatMap { groups[$0] ?? [] }
        while !rest.isEmpty, !isCancelled() {
            try index.writeStep { db in
                let deadline = ContinuousClock.now + WriteStep.time
                let next = rest.prefix(Self.filesPerStep)
                let files = try next.filter { try !hasRow($0, db) }
                let step = FileRemoval(
                    files, beneath: objects, until: deadline,
                    shares: min(threads, files.count / Self.filesPerThread + 1),
                    where: isRemovable)
                HelperThread.share(step.shares) { step.run() }
                let outcome = try step.outcome()
                failure = failure ?? outcome.refusal
                if outcome.lacksDescriptors { threads = 1 }
                removed += outcome.removed
                rest = outcome.left + rest.dropFirst(next.count)
            }
        }
        return removed
    }

    private func hasRow(_ digest: Digest, _ db: Database) throws -> Bool {
        try PreparedStatement(db, "SELECT 1 FROM objects WHERE digest = ?").firstInteger(digest)
            != nil
    }
}

/// One step of a removal: files that several threads remove, until the time is up. Each thread has
/// one directory open at a time.
final class FileRemoval: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    struct Outcome {
        var removed = ObjectTally()
        /// Those whose turn did not come in time, or that a thread had no descriptor for.
        var left: [Digest] = []
        /// Whether there were too few descriptors for so many threads.
        var lacksDescriptors = false
        /// Why files are left whose directory cannot be entered; nil if none is.
        var refusal: CacheError?
    }

    /// In the order of their directories.
    private let files: [Digest]
    private let objects: FileDescriptor
    private let deadline: ContinuousClock.Instant
    private let isRemovable: @Sendable (stat) -> Bool
    /// The number of parts that ``run()`` takes one after another.
    let shares: Int
    private let lock = NSLock()
    private var nextShare = 0
    private var sum = Outcome()
    private var failure: CacheError?

    /// - Parameter objects: The directory that holds the directories of the files.
    init(
        _ files: [Digest], beneath objects: FileDescriptor,
        until deadline: ContinuousClock.Instant, shares: Int,
        where isRemovable: @escaping @Sendable (stat) -> Bool
    ) {
        self.files = files
        self.objects = objects
        self.deadline = deadline
        self.isRemovable = isRemovable
        self.shares = shares
    }

    /// The sum of all shares.
    ///
    /// - Throws: The error that has ended one of them.
    func outcome() throws(CacheError) -> Outcome {
        lock.lock()
        defer { lock.unlock() }
        if let failure { throw failure }
        return sum
    }

    /// Removes the files of one share after another until no share is left. Called on several
    /// threads.
    func run() {
        while let share = takeShare() {
            let size = (files.count + shares - 1) / shares
            let outcome = remove(files.dropFirst(share * size).prefix(size))
            lock.withLock {
                sum.removed += outcome.removed
                sum.left += outcome.left
                sum.refusal = sum.refusal ?? outcome.refusal
                sum.lacksDescriptors = sum.lacksDescriptors || outcome.lacksDescriptors
            }
        }
    }

    private func takeShare() -> Int? {
        lock.withLock {
            guard nextShare < shares else { return nil }
            defer { nextShare += 1 }
            return nextShare
        }
    }

    private func remove(_ own: ArraySlice<Digest>) -> Outcome {
        var outcome = Outcome()
        var open: (name: String, fanOut: FileDescriptor?)?
        var rest = own
        do throws(CacheError) {
            for (position, digest) in zip(own.indices, own) {
                rest = own[position...]
                // One at least, or a disk that is slow enough would never be done.
                if position > own.startIndex, ContinuousClock.now >= deadline {
                    outcome.left = Array(rest)
                    break
                }
                let name = CacheLayout.fanOut(digest)
                if open?.name != name {
                    // Closed before the next one is opened.
                    open = nil
                    open = (name, try fanOut(name, &outcome))
                }
                guard let fanOut = open?.fanOut else { continue }
                if let bytes = try remove(digest, from: fanOut) { outcome.removed.add(bytes) }
            }
        } catch  where error.errno == EMFILE && shares > 1 {
            // The others have them.
            outcome.left = Array(rest)
            outcome.lacksDescriptors = true
        } catch {
            lock.withLock { failure = failure ?? error }
        }
        return outcome
    }

    /// Nil if the directory is out of reach.
    private func fanOut(
        _ name: String, _ outcome: inout Outcome
    ) throws(CacheError) -> FileDescriptor? {
        do throws(CacheError) {
            return try objects.directory(name)
        } catch  where error.isAbsence {
            // A link or a file is in its place, or nothing.
            return nil
        } catch  where error.isOutOfReach {
            outcome.refusal = error
            return nil
        }
    }

    /// Returns the bytes on disk that are free since; nil if nothing was removed.
    private func remove(
        _ digest: Digest, from fanOut: FileDescriptor
    ) throws(CacheError) -> Int64? {
        let name = digest.hex
        guard let status = try fanOut.status(of: name), status.isRegularFile, isRemovable(status)
        else { return nil }
        if unlinkat(fanOut.raw, name, 0) == 0 { return status.freeableBytes }
        guard errno == ENOENT else {
            throw CacheError("unlink", subject: CacheLayout.path(digest), errno: errno)
        }
        return nil
    }
}

/// The fan-out directories of the object tree, kept open: objects in the order of their use lie in
/// all of them.
final class FanOuts {
    private let directory: CacheDirectory
    private var open: [String: FileDescriptor] = [:]
    /// The maximum number of directories kept open: a part of the descriptors that the process may
    /// have, because the index needs some, too.
    private let limit: Int

    init(_ directory: CacheDirectory) {
        self.directory = directory
        limit = max(1, Int(min(sysconf(CInt(_SC_OPEN_MAX)), 1_024)) / 8)
    }

    /// Nil if a link or a file is in the directory's place, or nothing at all.
    ///
    /// - Throws: ``CacheError``, its subject the path beneath the root.
    private func directory(of digest: Digest) throws(CacheError) -> FileDescriptor? {
        let name = CacheLayout.fanOut(digest)
        if let fanOut = open[name] { return fanOut }
        if open.count >= limit { open = [:] }
        do throws(CacheError) {
            let fanOut = try directory.objects().directory(name)
            open[name] = fanOut
            return fanOut
        } catch  where error.isAbsence {
            return nil
        }
    }

    /// The bytes on disk that are free once an object's file is removed.
    func room(of digest: Digest) throws(CacheError) -> Int64 {
        guard let status = try directory(of: digest)?.status(of: digest.hex), status.isRegularFile
        else { return 0 }
        return status.freeableBytes
    }
}
