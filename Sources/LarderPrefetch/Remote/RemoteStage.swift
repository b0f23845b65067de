import LarderCache
import LarderHTTP
import Logging
import Synchronization

final class RemoteStage: Sendable {
    private let context: RemoteContext
    private let pullStage: PullStage
    let pushStage: PushStage?
    private let isStopping = Atomic(false)

    init(_ context: RemoteContext) {
        self.context = context
        pullStage = PullStage(context)
        let writes = [.mirror, .fill, .store].contains(context.remote.use)
        pushStage = writes ? PushStage(context) : nil
    }

    var report: RemoteReport { context.tally.report }

    func pull() throws -> CacheError? {
        let use = context.remote.use
        do {
            try waitForTask(unless: { isStopping.load(ordering: .relaxed) }, pullStage.run)
        } catch is CancellationError {
        } catch let error as CacheError {
            return error
        } catch let error as RemoteError {
            guard error.isTransient, ![.fill, .only, .store].contains(use) else { throw error }
            context.tally.note(error)
        }
        // Pulled objects are committed before the queue looks for missing objects.
        context.store.flush()
        if use == .only, !isStopping.load(ordering: .relaxed) { pullStage.failRest() }
        pushStage?.begin(isLookedUp: pullStage.hasLooked)
        return nil
    }

    func finish(after failure: CacheError?) throws {
        if failure != nil { stop() }
        try pushStage?.finish()
    }

    func stop() {
        isStopping.store(true, ordering: .relaxed)
        pushStage?.stop()
    }

    func close() { (context.remoteStore.storage as? S3Bucket)?.shutdown() }
}

final class RemoteTally: Sendable {
    private let state: Mutex<(report: RemoteReport, failure: RemoteError?)>
    private let onGivenUp: @Sendable () -> Void
    private let logger: Logger?

    init(_ location: String, logger: Logger?, onGivenUp: @escaping @Sendable () -> Void) {
        state = Mutex((RemoteReport(location: location), nil))
        (self.onGivenUp, self.logger) = (onGivenUp, logger)
    }

    var report: RemoteReport { state.withLock { $0.report } }
    var failure: RemoteError? { state.withLock { $0.failure } }
    var isGivenUp: Bool { failure != nil }
    func count(_ change: (inout RemoteReport) -> Void) { state.withLock { change(&$0.report) } }

    /// Counts an error of one object, or gives up the remote after a permanent or repeated error.
    func note(_ error: RemoteError) {
        logger?.info(
            "remote failed", metadata: ["code": "\(error.code.rawValue)", "error": "\(error)"])
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
