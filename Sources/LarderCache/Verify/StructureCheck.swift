import Foundation

/// SQLite's own check of an index, on a thread of its own beside the reading of objects: it takes one core, and
/// as long as they do where they are small.
final class StructureCheck: @unchecked Sendable {
    // Unchecked because the outcome is variables: written before `done` is signalled, read after.
    private let done = DispatchSemaphore(value: 0)
    private var result = Result<[String], CacheError>.success([])
    private var seconds = 0.0

    init(of index: CacheIndex, _ options: VerifyOptions) {
        Thread.detachNewThread { [self] in
            let start = ContinuousClock.now
            result = Result { () throws(CacheError) in
                try index.structuralComplaints(
                    isQuick: options.isQuick, isCancelled: options.isCancelled)
            }
            seconds = (ContinuousClock.now - start) / .seconds(1)
            done.signal()
        }
    }

    /// Waits for the end; to be called once.
    func wait() -> (complaints: Result<[String], CacheError>, seconds: Double) {
        done.wait()
        return (result, seconds)
    }
}
