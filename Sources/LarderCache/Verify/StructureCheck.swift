import Foundation

/// SQLite's own check of an index, on a thread of its own beside the reading of objects: it takes
/// one core, and as long as they do if they are small.
final class StructureCheck: @unchecked Sendable {
    // Unchecked because the state is variables: the checking thread's alone until `done` is
    // signalled, read after.
    private let done = DispatchSemaphore(value: 0)
    /// Nil once the check is done: a thread that takes its time to end must not keep the index
    /// open.
    private var index: CacheIndex?
    private let options: VerifyOptions
    private var result = Result<[String], CacheError>.success([])
    private var seconds = 0.0
    private var hasThread = false

    init(of index: CacheIndex, _ options: VerifyOptions) {
        self.index = index
        self.options = options
        hasThread = HelperThread.start { [self] in
            run()
            done.signal()
        }
    }

    private func run() {
        let start = ContinuousClock.now
        result = Result { () throws(CacheError) in
            try index?.structuralComplaints(
                isQuick: options.isQuick, isCancelled: options.isCancelled) ?? []
        }
        seconds = (ContinuousClock.now - start) / .seconds(1)
        index = nil
    }

    /// Waits for the end; to be called once. Runs the check if it could have no thread.
    func wait() -> (complaints: Result<[String], CacheError>, seconds: Double) {
        if hasThread { done.wait() } else { run() }
        return (result, seconds)
    }
}
