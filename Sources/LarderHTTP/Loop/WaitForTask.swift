import Dispatch
import Synchronization

/// A task that prefers this executor runs on the loop's queue, and must not block it.
extension TransferLoop: TaskExecutor {
    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        perform { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}

/// Runs `body` as a task, and blocks the thread until it ends. Calls `isCancelled` every 50 ms, and
/// cancels the task if it returns true.
///
/// - Parameter executor: Runs the task. Default: the pool. On a loop, the task needs no thread of
///   the pool, all of which may wait here.
package func waitForTask<Answer: Sendable>(
    on executor: (any TaskExecutor)? = nil, unless isCancelled: () -> Bool = { false },
    _ body: @escaping @Sendable () async throws -> Answer
) throws -> Answer {
    let outcome = Mutex<Result<Answer, any Error>?>(nil)
    let end = DispatchSemaphore(value: 0)
    let task = Task<Answer, any Error>(executorPreference: executor, operation: body)
    Task<Void, Never>(executorPreference: executor) {
        let result = await task.result
        outcome.withLock { $0 = result }
        end.signal()
    }
    while end.wait(timeout: .now() + .milliseconds(50)) == .timedOut {
        if isCancelled() { task.cancel() }
    }
    guard let result = outcome.withLock({ $0 }) else { preconditionFailure("it has not ended") }
    return try result.get()
}
