import Foundation
import LarderCache
import LarderHTTP
import Synchronization

/// A run's dealings with a remote: asked before the origins, told after a commit.
final class RemoteStage: Sendable {
    private let pullStage: PullStage
    private let pushStage: PushStage?
    private let storage: any ObjectStore
    private let use: Remote.Use
    private let isStopping = Atomic(false)
    private let pulling = Mutex<RunTask<Void>?>(nil)
    private let tally: RemoteTally

    /// - Parameter onGivenUp: called once if a worker's remote does not work: what it went on to
    ///   fetch would be for nothing.
    init(_ context: RemoteContext, onGivenUp: @escaping @Sendable () -> Void) throws {
        storage = try context.remote.open(context.transfer)
        use = context.remote.use
        let isWorker = use == .fill
        tally = RemoteTally(storage.subject(nil)) { if isWorker { onGivenUp() } }
        let remoteStore = RemoteStore(storage, maximumListed: context.remote.maximumListed)
        pullStage = PullStage(context, remoteStore: remoteStore, tally: tally)
        pushStage =
            [.mirror, .fill, .store].contains(use)
            ? PushStage(context, remoteStore: remoteStore, tally: tally) : nil
    }

    /// What was counted so far.
    var report: RemoteReport { tally.report }

    /// Takes what the cache lacks; then begins to store what is committed.
    ///
    /// - Returns: why the cache could not go on.
    /// - Throws: `RemoteError` if the remote cannot be used at all: it refuses whatever is asked,
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
        } catch let error as RemoteError {
            guard error.isTransient, ![.fill, .only, .store].contains(use) else { throw error }
            tally.note(error)
        }
        if use == .only, !isStopping.load(ordering: .relaxed) { try pullStage.failRest() }
        pushStage?.begin(isLookedUp: pullStage.hasLooked)
        return nil
    }

    /// Takes what was committed and reported.
    func add(_ results: [ResourceResult]) { pushStage?.add(results) }

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
    func close() { (storage as? S3Bucket)?.shutdown() }
}

/// Counts what a run has to do with a remote, from whichever thread, and knows when it is no use to
/// go on.
final class RemoteTally: Sendable {
    private let state: Mutex<State>
    private let onGivenUp: @Sendable () -> Void

    private struct State {
        var report: RemoteReport
        var failure: RemoteError?
    }

    /// - Parameter onGivenUp: called once if nothing more is asked of the remote.
    init(_ location: String, onGivenUp: @escaping @Sendable () -> Void) {
        state = Mutex(State(report: RemoteReport(location: location)))
        self.onGivenUp = onGivenUp
    }

    var report: RemoteReport { state.withLock { $0.report } }

    /// Why nothing more is asked of it; nil if it is.
    var failure: RemoteError? { state.withLock { $0.failure } }

    var isGivenUp: Bool { failure != nil }

    func count(_ change: (inout RemoteReport) -> Void) { state.withLock { change(&$0.report) } }

    /// Notes what went wrong with one object. If it is the store itself, which has been tried often
    /// enough by then, nothing more is asked of it.
    func note(_ error: RemoteError) {
        let isFirst = state.withLock { state in
            guard error.isTransient || error.isPermanent else {
                state.report.faults[error.code.rawValue, default: 0] += 1
                state.report.firstFault = state.report.firstFault ?? error.description
                return false
            }
            guard state.failure == nil else { return false }
            state.failure = error
            state.report.failure = error.description
            return true
        }
        if isFirst { onGivenUp() }
    }
}
