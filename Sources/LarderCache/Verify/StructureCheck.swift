import Foundation

/// SQLite's own check of an index, on a thread of its own beside the reading of objects: it takes
/// one core, and as long as they do if they are small.
final class StructureCheck: @unchecked Sendable {
    // Unchecked because the state is variables: the thread's alone until `done` is signalled, read
    // after.
    private let done = DispatchSemaphore(value: 0)
    /// Until the check is done: a thread that takes its time to end must not keep the index open.
    private var index: CacheIndex?
    private var result = Result<[String], CacheError>.success([])
    private var seconds = 0.0

    init(of index: CacheIndex, _ options: VerifyOptions) {
        self.index = index
        Thread.detachNewThread { [self] in
            let start = ContinuousClock.now
            result = Result { () throws(CacheError) in
                try self.index?.structuralComplaints(
                    isQuick: options.isQuick, isCancelled: options.isCancelled) ?? []
            }
            seconds = (ContinuousClock.now - start) / .seconds(1)
            self.index = nil
            done.signal()
        }
    }

    /// Waits for the end; to be called once.
    func wait() -> (complaints: Result<[String], CacheError>, seconds: Double) {
        done.wait()
        return (result, seconds)
    }
}
