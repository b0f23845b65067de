import Foundation

/// Runs blocking work, such as waiting for a process, on a new thread.
///
/// On a thread of the cooperative pool it would delay other tests.
public func onThreadOfItsOwn<Value: Sendable>(
    _ body: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        Thread.detachNewThread { continuation.resume(with: Result { try body() }) }
    }
}

/// Runs `body`, which may block, on new threads instead of the cooperative pool.
///
/// The pool has as many threads as the machine has cores. If all are blocked, it adds a thread only
/// after a second.
public func onNewThreads(_ body: () async throws -> Void) async throws {
    try await withTaskExecutorPreference(NewThreads(), operation: body)
}

/// An executor that runs each job on a new thread.
private final class NewThreads: TaskExecutor {
    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        Thread.detachNewThread { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }
}

/// Runs `body` on a new thread with a stack of 512 KiB.
func startThread(_ body: @escaping @Sendable () -> Void) {
    let thread = Thread { body() }
    thread.stackSize = 512 << 10
    thread.start()
}
