import Foundation

/// How long to wait for a lock that another process holds, and whom to tell.
///
/// Nobody queues: who waits for a lock that it wants for itself
/// (``Cache/reindex(at:wait:isCancelled:onProgress:)``) beside ever new users of the cache may wait
/// for long.
public struct LockWait: Sendable {
    /// How long; nil waits for as long as it takes.
    public var limit: Duration?
    /// Is told once, when a wait has lasted a second, what is waited for, in words. Default:
    /// nothing.
    public var onWait: @Sendable (String) -> Void
    /// Asked ten times a second: true gives up as if the time were over. Default: never.
    public var isCancelled: @Sendable () -> Bool

    /// Fails at once.
    public static let none = LockWait(limit: .zero)
    /// Waits for as long as it takes.
    public static let unlimited = LockWait(limit: nil)

    /// Waits so long at most; nil: for as long as it takes.
    public init(
        limit: Duration?, onWait: @escaping @Sendable (String) -> Void = { _ in },
        isCancelled: @escaping @Sendable () -> Bool = { false }
    ) {
        self.limit = limit
        self.onWait = onWait
        self.isCancelled = isCancelled
    }

    /// The same for a lock that is only held for moments: without a limit.
    var unlimited: LockWait {
        LockWait(limit: nil, onWait: onWait, isCancelled: isCancelled)
    }

    /// Takes a lock of flock(2).
    ///
    /// Asks again and again, after pauses that grow to 100 ms: a thread that flock(2) holds can be
    /// called back by a signal alone, and signals are the program's and not a library's.
    ///
    /// - Parameters:
    ///   - operation: `LOCK_SH` or `LOCK_EX`.
    ///   - subject: the file's name, for people.
    ///   - describeHolder: who holds it, in words; asked only while somebody does.
    /// - Throws: ``CacheError`` `.locked` when the time is over.
    func take(
        _ operation: Int32, on file: FileDescriptor, subject: String, describeHolder: () -> String
    ) throws(CacheError) {
        let start = ContinuousClock.now
        var pause = Duration.milliseconds(1)
        var isTold = false
        while flock(file.raw, operation | LOCK_NB) != 0 {
            guard errno != EINTR else { continue }
            guard errno == EWOULDBLOCK else {
                throw CacheError("lock", subject: subject, errno: errno)
            }
            let waited = ContinuousClock.now - start
            if limit.map({ waited >= $0 }) ?? false || isCancelled() {
                throw CacheError(.locked, subject: subject, message: describeHolder())
            }
            if !isTold, waited >= .seconds(1) {
                isTold = true
                onWait("waiting for \(subject): \(describeHolder())")
            }
            let rest = limit.map { $0 - waited } ?? pause
            Thread.sleep(forTimeInterval: min(pause, rest) / .seconds(1))
            pause = min(pause * 2, .milliseconds(100))
        }
    }
}
