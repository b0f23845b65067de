import Foundation

/// A policy for waiting for locks of other processes. Locks have no queue, so a reindex may wait
/// for a long time if other processes keep opening the cache.
public struct LockWait: Sendable {
    /// The maximum waiting time; nil means no limit.
    public var limit: Duration?
    /// Called with a message after one second of waiting. Default: does nothing.
    public var onWait: @Sendable (String) -> Void
    /// Called at least ten times a second. Returning true ends the wait. Default: never.
    public var isCancelled: @Sendable () -> Bool

    /// Fails immediately.
    public static let none = LockWait(limit: .zero)
    /// Waits without limit.
    public static let unlimited = LockWait(limit: nil)

    /// Creates a policy.
    public init(
        limit: Duration?, onWait: @escaping @Sendable (String) -> Void = { _ in },
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) { (self.limit, self.onWait, self.isCancelled) = (limit, onWait, isCancelled) }

    var unlimited: LockWait { LockWait(limit: nil, onWait: onWait, isCancelled: isCancelled) }

    /// Takes the lock. Polls, because only a signal can interrupt a blocked flock(2).
    func take(
        _ operation: Int32, on file: FileDescriptor, subject: String, describeHolder: () -> String
    ) throws(CacheError) {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        var isReported = false
        while flock(file.raw, operation | LOCK_NB) != 0 {
            guard errno != EINTR else { continue }
            guard errno == EWOULDBLOCK else {
                throw CacheError("lock", subject: subject, errno: errno)
            }
            let waited = ContinuousClock.now - start
            if limit.map({ waited >= $0 }) ?? false || isCancelled() {
                throw CacheError(.locked, subject: subject, message: describeHolder())
            }
            if !isReported, waited >= .seconds(1) {
                isReported = true
                onWait("waiting for \(subject): \(describeHolder())")
            }
            let rest = limit.map { $0 - waited } ?? pause
            Thread.sleep(forTimeInterval: min(pause, rest) / .seconds(1))
            pause = min(pause * 2, .milliseconds(100))
        }
    }
}

/// The wait for SQLite's lock. By default, the limit is at least ``grace``, because most
/// transactions end within that time.
final class WriterWait: Sendable {
    static let grace = Duration.seconds(5)
    static let moment = Duration.milliseconds(100)
    private let wait: LockWait
    private let subject: String
    private let state: Locked<(limit: Duration?, start: ContinuousClock.Instant, isReported: Bool)>

    init(_ wait: LockWait, subject: String) {
        (self.wait, self.subject) = (wait, subject)
        state = Locked((wait.limit.map { max($0, Self.grace) }, .now, false))
    }

    /// Sleeps, and returns whether to retry. SQLite's own handler sleeps for longer and misses the
    /// short pauses of an eviction.
    func retry(_ attempt: Int) -> Bool {
        let (waited, isOver, isReporting) = state.withLock { state in
            if attempt == 0 { (state.start, state.isReported) = (.now, false) }
            let waited = ContinuousClock.now - state.start
            let isReporting = !state.isReported && waited >= .seconds(1)
            if isReporting { state.isReported = true }
            return (waited, state.limit.map { waited >= $0 } ?? false, isReporting)
        }
        if isOver || wait.isCancelled() { return false }
        if isReporting { wait.onWait("waiting for \(subject): another process is writing to it") }
        usleep(waited < .seconds(1) ? .random(in: 500...1_500) : 10_000)
        return true
    }

    func limited<Value, Failure: Error>(
        to limit: Duration, _ body: () throws(Failure) -> Value
    ) throws(Failure) -> Value {
        let usual = state.withLock { $0.limit }
        state.withLock { $0.limit = min(limit, usual ?? limit) }
        defer { state.withLock { $0.limit = usual } }
        return try body()
    }
}
