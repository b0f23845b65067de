import Foundation

/// Work that callers share: done once for each key, and cancelled with its last caller.
final class SharedWork<Value: Sendable>: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`.

    /// Begins the work, which ends with a call of `finish`. Returns a function that cancels it.
    typealias Start = (_ finish: @escaping Finish) -> @Sendable () -> Void
    typealias Finish = @Sendable (Result<Value, any Error>) -> Void

    private typealias Waiter = CheckedContinuation<Value, any Error>

    private struct Job {
        let serial: Int
        var waiters: [ObjectIdentifier: Waiter]
        /// Nil while it begins.
        var giveUp: (@Sendable () -> Void)?
    }

    /// One call of ``value(for:start:)``.
    private final class Caller: @unchecked Sendable {
        // Unchecked because there are variables; every access holds the work's `lock`.
        var hasJoined = false
        var isCancelled = false
    }

    private let lock = NSLock()
    private var jobs: [String: Job] = [:]
    private var serial = 0

    var count: Int { lock.withLock { jobs.count } }
    var callers: Int { lock.withLock { jobs.values.reduce(0) { $0 + $1.waiters.count } } }

    /// Returns the result of the work for `key`, which begins unless it is in progress. A cancelled
    /// task gets `CancellationError` at once.
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

        let giveUp = start { [self] in finish(key, job.serial, $0) }
        lock.lock()
        guard jobs[key]?.serial == job.serial else {
            // It has ended, or its only caller is cancelled.
            lock.unlock()
            return giveUp()
        }
        jobs[key]?.giveUp = giveUp
        lock.unlock()
    }

    private func leave(_ key: String, _ caller: Caller) {
        lock.lock()
        caller.isCancelled = true
        // Without a waiter, the caller has not joined yet, or has its result.
        guard caller.hasJoined,
            let waiter = jobs[key]?.waiters.removeValue(forKey: ObjectIdentifier(caller))
        else { return lock.unlock() }
        var giveUp: (@Sendable () -> Void)?
        if jobs[key]?.waiters.isEmpty ?? false { giveUp = jobs.removeValue(forKey: key)?.giveUp }
        lock.unlock()
        giveUp?()
        waiter.resume(throwing: CancellationError())
    }

    private func finish(_ key: String, _ serial: Int, _ result: Result<Value, any Error>) {
        lock.lock()
        let isCurrent = jobs[key]?.serial == serial
        let waiters = isCurrent ? jobs.removeValue(forKey: key)?.waiters : nil
        lock.unlock()
        waiters?.values.forEach { $0.resume(with: result) }
    }
}
