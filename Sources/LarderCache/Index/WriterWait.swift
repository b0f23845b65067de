import Foundation

/// How long an index waits while another process has SQLite's lock on it.
///
/// Whoever is told not to wait does so for ``grace`` all the same: a transaction of larder's own
/// lasts for milliseconds, and is nobody's fault.
final class WriterWait: @unchecked Sendable {
    // Unchecked because the state is variables; every access holds `lock`. (`Mutex` needs iOS 18.)

    /// What any wait is given.
    static let grace = Duration.seconds(5)
    /// What is given if nothing depends on it.
    static let moment = Duration.milliseconds(100)

    private let wait: LockWait
    private let subject: String
    private let lock = NSLock()
    private var limit: Duration?
    private var start = ContinuousClock.now
    private var isTold = false

    /// - Parameter subject: the index's path, for people.
    init(_ wait: LockWait, subject: String) {
        self.wait = wait
        self.subject = subject
        limit = wait.limit.map { max($0, Self.grace) }
    }

    /// Called again and again by SQLite while another process has the lock; false gives up.
    ///
    /// SQLite's own way waits for up to 100 ms at a time, and would miss the few milliseconds that
    /// an eviction leaves to others between its steps.
    func goesOn(_ attempt: Int) -> Bool {
        let (waited, isOver, tells) = lock.withLock {
            if attempt == 0 { (start, isTold) = (.now, false) }
            let waited = ContinuousClock.now - start
            let tells = !isTold && waited >= .seconds(1)
            if tells { isTold = true }
            return (waited, limit.map { waited >= $0 } ?? false, tells)
        }
        if isOver || wait.isCancelled() { return false }
        if tells { wait.onWait("waiting for \(subject): another process writes to it") }
        usleep(waited < .seconds(1) ? .random(in: 500...1_500) : 10_000)
        return true
    }

    /// Waits so long at most meanwhile, without a grace.
    func limited<Value, Failure: Error>(
        to limit: Duration, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let usual = lock.withLock { self.limit }
        lock.withLock { self.limit = min(limit, usual ?? limit) }
        defer { lock.withLock { self.limit = usual } }
        return try body()
    }
}
