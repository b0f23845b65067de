import Foundation
import GRDB
import LarderCore

/// The removal of objects until a cache is within its limits, while other processes use it.
///
/// One transaction deletes an object's rows. When it is durable, a second transaction removes the
/// file, unless the object has a row again. A crash can leave a file without a row, but never a row
/// without a file. A store commits a row only if the file exists during the same transaction.
struct Evictor {
    /// The maximum number of files per step. It is large, because each durable commit makes the
    /// file system write all directories and inodes of removed files.
    static let fileLimit = 4_096
    /// If a step takes longer, the next one is smaller, because a cancellation waits for its end.
    private static let fileTime = Duration.milliseconds(500)
    /// With fewer free bytes on the disk, steps are small and the plan is stored outside the cache,
    /// because SQLite's log needs the space.
    static let tightness: Int64 = 8 << 20
    private static let tightLimit = 8
    private static let passLimit = 5
    let directory: CacheDirectory
    let index: CacheIndex?
    let policy: EvictionPolicy
    let onVictim: (EvictionReport.Victim) throws -> Void
    let onProgress: (ObjectProgress) -> Void
    let disk: DiskSpace
    var report: EvictionReport
    /// The disk space of removed files, which a file system may free later.
    var freed: Int64 = 0
    var before = ObjectTally()
    var ownRun: RunDirectory?
    let start = ContinuousClock.now
    let startDate = Date()

    mutating func run() throws -> EvictionReport {
        let isReadOnly = policy.isDryRun || index == nil
        ownRun = isReadOnly ? nil : try RunDirectory(in: directory)
        // On a nearly full disk, SQLite chooses a path outside the cache.
        let path = isTight ? nil : ownRun.map { directory.path(of: "eviction.sqlite", in: $0) }
        let plan = try index.map { try EvictionPlan(policy, index: $0, at: path, in: directory) }
        do {
            try sweep()
            report.isInterrupted = policy.isCancelled()
            if let index, let plan {
                freed = report.swept.values.reduce(0) { $0 + $1.bytes }
                if isReadOnly || isTight {
                    try evict(plan, from: index)
                } else {
                    try index.withRoom { try evict(plan, from: index) }
                }
                try plan.close()
            }
        } catch { try stop(error) }
        ownRun = nil
        report.seconds = (ContinuousClock.now - start) / .seconds(1)
        return report
    }

    private mutating func evict(_ plan: EvictionPlan, from index: CacheIndex) throws {
        for _ in 0..<Self.passLimit {
            // The time is read before the index, because a run may start in between.
            let now = Date()
            var runStart = try directory.oldestRunStart(except: ownRun?.name) ?? now
            // If the clock was set back, the run may have used any object.
            if runStart > now { runStart = .distantPast }
            before = try plan.decide(
                at: now, runStart: runStart, free: disk.free + freed, into: &report)
            before += report.total
            let planned = report.missed
            let isWhole = try remove(plan, from: index)
            if policy.isDryRun { return }
            // Other processes may have stored objects in the meantime.
            report.left = try index.objectTotals()
            report.missed = try missed(withFree: room())
            if isWhole, Set(report.missed).subtracting([.free]).isSubset(of: planned) { break }
        }
        try forgetDamaged(plan, in: index)
        try ObjectUse.settle(in: index)
        try index.writeStep { db in
            _ = try FailureTable.trim(db)
            report.forgottenFailures = db.changesCount
        }
        try index.shrink(unless: policy.isCancelled)
    }

    private func forgetDamaged(_ plan: EvictionPlan, in index: CacheIndex) throws {
        guard policy.maximumAge != nil || policy.only != nil else { return }
        let now = Date()
        var last = ""
        while !policy.isCancelled() {
            let keys = try plan.damagedKeys(after: last, at: now, limit: WriteStep.rowLimit)
            guard let end = keys.last else { return }
            try index.writeStep { db in
                let delete = try db.prepared("DELETE FROM damaged WHERE key = ?")
                for key in keys { try delete.run(key) }
            }
            last = end
        }
    }

    private func room() throws(CacheError) -> Int64 {
        let counted = disk.free + freed
        guard let limit = policy.minimumFree, !policy.isDryRun else { return counted }
        let free = try DiskSpace(of: directory.root).free
        guard free < limit, counted >= limit else { return free }
        try? Durability.flush(directory.root)
        return try DiskSpace(of: directory.root).free
    }

    private mutating func stop(_ error: any Error) throws {
        let cause =
            (error as? DatabaseError).map { CacheError(index: "the eviction plan", $0) }
            ?? error as? CacheError
        if error is CancellationError || cause?.code == .locked && policy.isCancelled() {
            report.isInterrupted = true
        } else if let cause, cause.code == .storage || cause.code == .locked {
            report.failure = directory.judged(cause)
        } else {
            throw error
        }
        guard let index else { return }
        let known = try? index.objectTotals()
        report.left = known ?? before
        if known == nil || policy.isDryRun {
            report.left.count -= report.total.count
            report.left.bytes -= report.total.bytes
        }
        report.missed = missed(withFree: (try? room()) ?? disk.free + freed)
    }

    private mutating func remove(_ plan: EvictionPlan, from index: CacheIndex) throws -> Bool {
        var isWhole = true
        var rank: Int64 = 0
        var rowless: [Digest] = []
        let removal = try ObjectRemoval(directory)
        defer { report.failure = report.failure ?? removal.failure }
        let limit = isTight ? Self.tightLimit : WriteStep.rowLimit
        var fileLimit = limit
        do {
            while true {
                showProgress()
                let isOver = policy.isCancelled()
                let batch = isOver ? [] : try plan.victims(after: rank, limit: limit)
                if policy.isDryRun {
                    rank = batch.last?.rank ?? rank
                    for victim in batch { try count(plan.named(victim)) }
                } else if !batch.isEmpty {
                    let gone = try removeRows(of: batch, limit, from: index, &rank, &isWhole)
                    // The checkpoint fails if another process is reading.
                    if isTight { try? index.foldLog() }
                    rowless += gone.map(\.digest)
                    for victim in gone { try count(victim) }
                }
                if batch.isEmpty || rowless.count >= fileLimit {
                    let (start, files) = (ContinuousClock.now, rowless)
                    rowless = []
                    try removal.removeFiles(of: files, in: index)
                    let isSlow = ContinuousClock.now - start > Self.fileTime
                    if !isTight { fileLimit = isSlow ? limit : Self.fileLimit }
                }
                if batch.isEmpty {
                    if isOver { throw CancellationError() }
                    return isWhole
                }
            }
        } catch {
            // Removing these files may free the missing space.
            _ = try? removal.removeFiles(of: rowless, in: index)
            throw error
        }
    }

    /// Deletes up to `2 * limit` rows, and returns the victims that have no rows left. Skips
    /// victims used or pinned since the plan was made. If there are any, sets `isWhole` to false.
    private func removeRows(
        of batch: [EvictionPlan.Victim], _ limit: Int, from index: CacheIndex, _ rank: inout Int64,
        _ isWhole: inout Bool
    ) throws(CacheError) -> [EvictionPlan.Victim] {
        var gone: [EvictionPlan.Victim] = []
        // The commit need not be durable, because ObjectRemoval syncs before it removes files.
        try index.writeStep(isDurable: false) { db in
            let deadline = ContinuousClock.now + WriteStep.time
            var room = 2 * limit
            let some = "FROM resources WHERE object = ?1 ORDER BY id LIMIT ?2"
            let isIdle = try db.prepared(
                """
                SELECT NOT EXISTS (
                    SELECT 1 FROM (SELECT key \(some)) r CROSS JOIN pins p ON p.key = r.key)
                FROM objects WHERE id = ?1 AND digest = ?3 AND used_at = ?4
                """)
            let deleteResources = try db.prepared(
                "DELETE FROM resources WHERE id IN (SELECT id \(some))")
            let deleteObject = try db.prepared("DELETE FROM objects WHERE id = ?")
            for victim in batch {
                let (object, digest) = (victim.object, victim.digest)
                if try isIdle.firstInteger(object, room, digest, victim.usedAt) == 1 {
                    try deleteResources.run(object, room)
                    room -= db.changesCount
                    guard room > 0 else { return }
                    try deleteObject.run(object)
                    room -= 1
                    gone.append(victim)
                } else {
                    isWhole = false
                }
                rank = victim.rank
                if room == 0 || ContinuousClock.now >= deadline { break }
            }
        }
        return gone
    }

    private func showProgress() {
        let gone = report.total
        var progress = ObjectProgress()
        (progress.objects, progress.bytes) = (gone.count, gone.bytes)
        progress.total = max(gone.count, before.count - report.left.count)
        progress.seconds = (ContinuousClock.now - start) / .seconds(1)
        onProgress(progress)
    }

    private func missed(withFree free: Int64) -> [EvictionReport.Reason] {
        EvictionExcess(policy: policy, left: report.left, free: free).missed
    }

    private var isTight: Bool { disk.free < Self.tightness }

    private mutating func count(_ victim: EvictionPlan.Victim) throws {
        freed += victim.room
        report.evicted[victim.reason, default: .init()].add(victim.size)
        try onVictim(victim)
    }

    mutating func sweep() throws {
        // Directories of runs need no grace period, because a lock shows whether a run has ended.
        report.swept[.runs] = try directory.sweepRuns(isDryRun: policy.isDryRun)
        report.swept[.partials] = try sweep([CacheLayout.temporary, CacheLayout.partial])
        report.swept[.temporaries] = try sweep([CacheLayout.temporary]) { name, status in
            !(status.isDirectory && (name.hasPrefix("run-") || name == CacheLayout.partial))
        }
        report.swept[.quarantined] = try sweep([CacheLayout.quarantine]) { name, _ in
            CacheDirectory.isQuarantined(name)
        }
        // Without an index, every object would look like an orphan.
        if let index { report.swept[.orphans] = try sweepOrphans(index) }
    }

    private func sweep(
        _ path: [String], where isOwn: (String, stat) -> Bool = { _, _ in true }
    ) throws(CacheError) -> ObjectTally {
        var tally = ObjectTally()
        do throws(CacheError) {
            var parent = directory.root
            for name in path { parent = try parent.directory(name) }
            for name in try parent.names() {
                if policy.isCancelled() { break }
                guard let status = try parent.status(of: name), isOwn(name, status), isOld(status)
                else { continue }
                let removed = try parent.removeTree(name, isDryRun: policy.isDryRun)
                if removed.isGone { tally.count += 1 }
                tally.bytes += removed.bytes
            }
        } catch  where error.isAbsence {}
        return tally
    }

    private func sweepOrphans(_ index: CacheIndex) throws -> ObjectTally {
        let removal = try ObjectRemoval(directory)
        var tally = ObjectTally()
        guard let root = try ObjectTree(directory).root() else { return tally }
        for byte in UInt8.min...UInt8.max where !policy.isCancelled() {
            let name = String.hex([byte])
            guard try root.status(of: name)?.isDirectory == true else { continue }
            let known = Set(try index.rows("o.digest", fanOut: byte) { try $0.requireDigest() })
            let orphans = try orphans(name, beneath: root, known, &tally)
            if policy.isDryRun { continue }
            tally += try removal.removeFiles(
                of: orphans, in: index, where: isOld, unless: policy.isCancelled)
        }
        return tally
    }

    // A function, because the compiler does not terminate if this loop is inside another loop.
    private func orphans(
        _ fanOut: String, beneath root: FileDescriptor, _ known: Set<Digest>,
        _ tally: inout ObjectTally
    ) throws(CacheError) -> [Digest] {
        var orphans: [Digest] = []
        do throws(CacheError) {
            try ObjectTree.walk(fanOut: fanOut, beneath: root) { (entry) throws(CacheError) in
                // A recent file may not have its row yet.
                guard let digest = entry.digest, !known.contains(digest),
                    let status = try entry.parent.status(of: entry.name), status.isRegularFile,
                    isOld(status)
                else { return }
                orphans.append(digest)
                if policy.isDryRun { tally.add(status.freeableBytes) }
            }
        } catch {
            guard error.isOutOfReach else { throw error }
        }
        return orphans
    }

    /// Whether a file is older than the grace period. A rename changes only the status change time.
    private var isOld: @Sendable (stat) -> Bool {
        { [limit = startDate.addingTimeInterval(-policy.grace)] status in
            [status.modified, status.changed].allSatisfy {
                Double($0.tv_sec) + Double($0.tv_nsec) / 1e9 <= limit.timeIntervalSince1970
            }
        }
    }
}

extension Cache {
    /// Opens the cache like ``open(at:wait:log:)``. If the disk is nearly full, first removes
    /// expendable files, because SQLite's log needs space.
    public static func openMakingRoom(
        at path: String, wait: LockWait = .none, log: CacheLog = .none
    ) throws(CacheError) -> Cache {
        try makeRoom(in: try CacheDirectory(path: path, create: false, wait: wait, log: log))
        return try open(at: path, wait: wait, log: log, waitsForWriters: true)
    }

    private static func makeRoom(in directory: CacheDirectory) throws(CacheError) {
        guard directory.isWritable, let index = try directory.root.status(of: CacheLayout.index),
            try DiskSpace(of: directory.root).free < max(Evictor.tightness, Int64(index.st_size))
        else { return }
        try directory.sweepRuns()
        for name in [CacheLayout.reserve, CacheLayout.snapshot] {
            directory.root.removeIfRegular(name)
        }
        try? Durability.flush(directory.root)
    }

    /// Removes leftover files, and then objects in the policy's order until its limits are met.
    /// Calls `onVictim` for each removed object, in order.
    ///
    /// Pinned objects and objects that a run in progress has stored or used are kept. Open files
    /// remain readable. All keys of the policy are read before any object is removed.
    ///
    /// - Throws: A ``CacheError``, for example `.unusable` for a read-only cache unless the
    ///   eviction is a dry run. Also errors from the policy's keys and from `onVictim`.
    public func evict(
        _ policy: EvictionPolicy,
        onVictim: @escaping (EvictionReport.Victim) throws -> Void = { _ in },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws -> EvictionReport {
        if isReadOnly, !policy.isDryRun { try requireWritable() }
        do {
            var evictor = Evictor(
                directory: directory, index: index, policy: policy, onVictim: onVictim,
                onProgress: onProgress, disk: try DiskSpace(of: directory.root),
                report: EvictionReport(isDryRun: policy.isDryRun))
            let report = try evictor.run()
            directory.log(.info, report.summary)
            if policy.isDryRun { return report }
            if try directory.root.status(of: CacheLayout.snapshot) == nil { index?.trySnapshot() }
            if report.failure == nil { directory.takeReserve() }
            return report
        } catch let error as DatabaseError {
            throw directory.judged(CacheError(index: "the eviction plan", error))
        } catch let error as CacheError { throw directory.judged(error) }
    }

    /// The size of the cache's file system in bytes.
    public var fileSystemBytes: Int64 {
        get throws(CacheError) { try DiskSpace(of: directory.root).size }
    }
}
