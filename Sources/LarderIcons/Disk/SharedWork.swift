import Foundation

/// Work that concurrent callers of a key share. It is cancelled when all of them are cancelled.
final class SharedWork<Value: Sendable>: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    /// Starts the work, which must call `finish`. Returns a function that cancels the work.
    typealias Start = (_ finish: @escaping Finish) -> @Sendable () -> Void
    typealias Finish = @Sendable (Result<Value, any Error>) -> Void

    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Job {
        /// The number of the first caller, which identifies the job.
        let serial: Int
        var waiters: [Int: Waiter] = [:]
        var cancel: (@Sendable () -> Void)?
    }

    private let lock = NSLock()
    private var jobs: [String: Job] = [:]
    private var lastCaller = 0

    var count: Int { lock.withLock { jobs.count } }
    var callers: Int { lock.withLock { jobs.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Waits for the key's work. Throws as soon as the calling task is cancelled.
    func value(for key: String, start: Start) async throws -> Value {
        let caller = lock.withLock {
            lastCaller += 1
            return lastCaller
        }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in join(key, caller, waiter, start) }
        } onCancel: {
            leave(key, caller)
        }
    }

    private func join(_ key: String, _ caller: Int, _ waiter: Waiter, _ start: Start) {
        let isFirst: Bool? = lock.withLock {
            // A cancellation after this check finds the waiter.
            guard !Task.isCancelled else { return nil }
            let isFirst = jobs[key] == nil
            jobs[key, default: Job(serial: caller)].waiters[caller] = waiter
            return isFirst
        }
        guard let isFirst else { return waiter.resume(throwing: CancellationError()) }
        guard isFirst else { return }
        let cancel = start { [self] in finish(key, caller, $0) }
        let isOver = lock.withLock {
            guard jobs[key]?.serial == caller else { return true }
            jobs[key]?.cancel = cancel
            return false
        }
        // The work has ended, or its only caller was cancelled.
        if isOver { cancel() }
    }

    private func leave(_ key: String, _ caller: Int) {
        let (waiter, cancel) = lock.withLock {
            let waiter = jobs[key]?.waiters.removeValue(forKey: caller)
            let isUnused = jobs[key]?.waiters.isEmpty ?? false
            return (waiter, isUnused ? jobs.removeValue(forKey: key)?.cancel : nil)
        }
        cancel?()
        waiter?.resume(throwing: CancellationError())
    }

    private func finish(_ key: String, _ serial: Int, _ result: Result<Value, any Error>) {
        let waiters = lock.withLock {
            jobs[key]?.serial == serial ? jobs.removeValue(forKey: key)?.waiters : nil
        }
        waiters?.values.forEach { $0.resume(with: result) }
    }
}
