import Foundation
import GRDB

extension Cache {
    /// Opens the cache at `path` to be evicted from: as ``open(at:wait:)``, but if the disk is
    /// nearly full, what can be had again goes first. Deleting takes room, too: for the index's
    /// log, and the plan.
    ///
    /// - Throws: ``CacheError``.
    public static func openMakingRoom(
        at path: String, wait: LockWait = .none
    ) throws(CacheError) -> Cache {
        try makeRoom(in: try CacheDirectory(path: path, create: false, wait: wait))
        return try open(at: path, wait: wait, waitsForWriters: true)
    }

    private static func makeRoom(in directory: CacheDirectory) throws(CacheError) {
        guard directory.isWritable, let index = try directory.root.status(of: CacheLayout.index),
            try DiskSpace(of: directory.root).free < max(Evictor.tightness, Int64(index.st_size))
        else { return }
        try RunDirectory.sweepAbandoned(in: directory)
        // Taken again at the end.
        Reserve(directory).giveUp()
        if try directory.root.status(of: CacheLayout.snapshot)?.isRegularFile == true {
            unlinkat(directory.root.raw, CacheLayout.snapshot, 0)
        }
        // What was freed is there once the file system has noted so.
        try? Durability.flush(directory.root)
    }

    /// Keeps the cache within bounds: sweeps leftovers, then removes the objects that `policy` lets
    /// go, the least recently used first. Beside other processes: what a run that is under way has
    /// stored, what is used meanwhile and what is pinned stays, and readers keep what they have
    /// open.
    ///
    /// Manifests are read before anything is removed.
    ///
    /// - Parameters:
    ///   - policy: the limits, and what is kept whatever they say.
    ///   - onVictim: called for every object that goes, in order, once its rows are gone.
    ///   - onProgress: called after every few objects.
    /// - Throws: ``CacheError``, `.storage` or `.unusable` if the cache is read-only and this is
    ///   not a dry run; what the policy's keys or `onVictim` throw.
    public func evict(
        _ policy: EvictionPolicy,
        onVictim: @escaping (EvictionReport.Victim) throws -> Void = { _ in },
        onProgress: @escaping (ObjectProgress) -> Void = { _ in }
    ) throws -> EvictionReport {
        if isReadOnly, !policy.isDryRun { try requireWritable() }
        do {
            var evictor = Evictor(
                directory: directory, index: index, policy: policy,
                onVictim: onVictim, onProgress: onProgress)
            let report = try evictor.run()
            if policy.isDryRun { return report }
            if try directory.root.status(of: CacheLayout.snapshot) == nil { index?.trySnapshot() }
            if report.failure == nil { Reserve(directory).take() }
            return report
        } catch let error as DatabaseError {
            throw directory.judged(CacheError(index: "the eviction's plan", error))
        } catch let error as CacheError {
            throw directory.judged(error)
        }
    }

    /// How many bytes the cache's file system has in all.
    public var fileSystemBytes: Int64 {
        get throws(CacheError) { try DiskSpace(of: directory.root).size }
    }
}
