import Foundation

/// Asynchronous work by key. Concurrent callers of a key share one run, which is cancelled when all
/// callers are cancelled.
final class SharedWork<Value: Sendable>: @unchecked Sendable {
    // Unchecked because `lock` guards the variables.

    /// Starts the work, which must call `finish`. Returns a function that cancels the work.
    typealias Start = (_ finish: @escaping Finish) -> @Sendable () -> Void
    typealias Finish = @Sendable (Result<Value, any Error>) -> Void

    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Job {
        let serial: Int
        var waiters: [ObjectIdentifier: Waiter]
        var cancel: (@Sendable () -> Void)?
    }

    private final class Caller: @unchecked Sendable {
        // Unchecked because the `lock` of `SharedWork` guards the variables.
        var hasJoined = false
        var isCancelled = false
    }

    private let lock = NSLock()
    private var jobs: [String: Job] = [:]
    private var serial = 0

    var count: Int { lock.withLock { jobs.count } }
    var callers: Int { lock.withLock { jobs.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Waits for the key's work, and starts it unless it is in progress. Throws `CancellationError`
    /// as soon as the calling task is cancelled.
    func value(for key: String, start: Start) async throws -> Value {
        let caller = Caller()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { waiter in join(key, caller, waiter, start) }
        } onCancel: {
            leave(key, caller)
        }
    }

    private func join(_ key: String, _ caller: Caller, _ waiter: Waiter, _ start: Start) {
        lock.lock()
        if caller.isCancelled {
            lock.unlock()
            return waiter.resume(throwing: CancellationError())
        }
        caller.hasJoined = true
        let id = ObjectIdentifier(caller)
        if jobs[key] != nil {
            jobs[key]?.waiters[id] = waiter
            return lock.unlock()
        }
        serial += 1
        let job = Job(serial: serial, waiters: [id: waiter])
        jobs[key] = job
        lock.unlock()

        let cancel = start { [self] in finish(key, job.serial, $0) }
        lock.lock()
        guard jobs[key]?.serial == job.serial else {
            // The work has ended, or its only caller was cancelled.
            lock.unlock()
            return cancel()
        }
        jobs[key]?.cancel = cancel
        lock.unlock()
    }

    private func leave(_ key: String, _ caller: Caller) {
        lock.lock()
        caller.isCancelled = true
        // A caller without a waiter has not joined yet or has already received the result.
        guard caller.hasJoined,
            let waiter = jobs[key]?.waiters.removeValue(forKey: ObjectIdentifier(caller))
        else { return lock.unlock() }
        var cancel: (@Sendable () -> Void)?
        if jobs[key]?.waiters.isEmpty ?? false { cancel = jobs.removeValue(forKey: key)?.cancel }
        lock.unlock()
        cancel?()
        waiter.resume(throwing: CancellationError())
    }

    private func finish(_ key: String, _ serial: Int, _ result: Result<Value, any Error>) {
        let waiters = lock.withLock {
            jobs[key]?.serial == serial ? jobs.removeValue(forKey: key)?.waiters : nil
        }
        waiters?.values.forEach { $0.resume(with: result) }
    }
}
