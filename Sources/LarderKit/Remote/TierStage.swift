import Foundation
import LarderCache
import LarderS3
import Synchronization

/// A run's dealings with a remote: asked before the origins, told after a commit.
final class TierStage: Sendable {
    private let pullStage: PullStage
    private let pushStage: PushStage?
    private let storage: any ObjectStorage
    private let use: Remote.Use
    private let isStopping = Atomic(false)
    private let pulling = Mutex<RunTask?>(nil)
    private let tally: RemoteTally

    /// - Parameter onGivenUp: called once if a worker's remote does not work: what it went on to
    ///   fetch would be for nothing.
    init(_ context: TierContext, onGivenUp: @escaping @Sendable () -> Void) throws {
        storage = try context.remote.open(context.transfer)
        use = context.remote.use
        let isWorker = use == .fill
        tally = RemoteTally(storage.subject(nil)) { if isWorker { onGivenUp() } }
        let tier = SharedTier(storage, maximumListed: context.remote.maximumListed)
        pullStage = PullStage(context, tier: tier, tally: tally)
        pushStage =
            [.mirror, .fill, .store].contains(use)
            ? PushStage(context, tier: tier, tally: tally) : nil
    }

    /// What was counted so far.
    var report: RemoteReport { tally.report }

    /// Takes what the cache lacks; then begins to store what is committed.
    ///
    /// - Returns: why the cache could not go on.
    /// - Throws: `StorageError` if the remote cannot be used at all: it refuses whatever is asked,
    ///   or nothing else is to be asked.
    func pull() throws -> CacheError? {
        let task = RunTask { [pullStage] in try await pullStage.run() }
        pulling.withLock { $0 = task }
        if isStopping.load(ordering: .relaxed) { task.cancel() }
        do {
            try task.wait()
        } catch is CancellationError {
        } catch let error as CacheError {
            return error
        } catch let error as StorageError {
            guard error.isTransient, ![.fill, .only, .store].contains(use) else { throw error }
            tally.note(error)
        }
        if use == .only, !isStopping.load(ordering: .relaxed) { try pullStage.failRest() }
        pushStage?.begin(isLookedUp: pullStage.hasLooked)
        return nil
    }

    /// Takes what was committed and reported.
    func add(_ results: [FetchResult]) { pushStage?.add(results) }

    /// Ends once everything is stored that is to be, or cannot be.
    ///
    /// - Parameter failure: why the cache could not go on, if so: then it ends soon.
    func finish(after failure: CacheError?) throws {
        if failure != nil { stop() }
        try pushStage?.finish()
    }

    /// Ends soon.
    func stop() {
        isStopping.store(true, ordering: .relaxed)
        pulling.withLock { $0 }?.cancel()
        pushStage?.stop()
    }

    /// Lets go of its connections.
    func close() { (storage as? S3Storage)?.shutdown() }
}
