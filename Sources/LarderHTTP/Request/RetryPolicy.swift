import Foundation
import LarderCore

/// The rules for retries. Each delay is random, up to a maximum that doubles with each failure
/// (Marc Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
public struct RetryPolicy: Sendable {
    /// Maximum number of attempts for a URL, including the first attempt. Default: 5.
    public var attempts = 5
    /// Maximum delay after the first failure. Default: 100 ms.
    public var base: Duration = .milliseconds(100)
    /// Maximum delay after the first failure with one of ``overloadStatuses``. Default: 5 s.
    public var overloadBase: Duration = .seconds(5)
    /// Maximum delay after any failure, unless the server requests a longer one. Default: 60 s.
    public var cap: Duration = .seconds(60)
    /// Maximum time between the starts of a URL's first and last attempts. All URLs of a host fail
    /// if the host has not answered for this long, or requests a longer delay. Default: 10 min.
    public var maximumTime: Duration = .seconds(600)

    /// Creates the default policy.
    public init() {}

    /// A policy like that of Amazon's SDKs, but without a deadline, because objects may be large.
    package static func ofRemote(
        attempts: Int = 5, base: Duration = .milliseconds(400), cap: Duration = .seconds(5)
    ) -> RetryPolicy {
        var policy = RetryPolicy()
        (policy.attempts, policy.base, policy.cap) = (attempts, base, cap)
        policy.maximumTime = .seconds(1 << 30)
        return policy
    }

    /// The statuses to retry. All other statuses are final.
    public static let retriedStatuses: Set = [408, 425, 429, 500, 502, 503, 504, 522, 524]
    /// The statuses of an overloaded server.
    public static let overloadStatuses: Set = [429, 503]

    package func ceiling(afterFailures failures: Int, isOverload: Bool) -> Duration {
        let base = isOverload ? overloadBase : base
        return min(cap, base * (1 << min(max(failures, 1) - 1, 30)))
    }

    /// Returns the time of the next attempt, `hold` or later, or a failure if no attempts are left.
    package func nextAttempt<Failure: RetriableFailure>(
        after failure: Failure, attempt: Int, since start: ContinuousClock.Instant,
        hold: ContinuousClock.Instant?, now: ContinuousClock.Instant = .now
    ) -> Result<ContinuousClock.Instant, Failure> {
        guard failure.isTransient, attempt < attempts else { return .failure(failure) }
        let ceiling = ceiling(afterFailures: attempt, isOverload: failure.isOverload)
        var instant = now + ceiling * Double.random(in: 0...1)
        if let hold { instant = max(instant, hold) }
        guard instant - start <= maximumTime else { return .failure(failure.outOfTime) }
        return .success(instant)
    }

    package func attempt<Answer, Failure: RetriableFailure>(
        _ body: () async throws -> Answer,
        onRetry: (_ failure: Failure, _ attempt: Int, _ delay: Duration) -> Void
    ) async throws -> Answer {
        let start = ContinuousClock.now
        var attempt = 1
        while true {
            do {
                return try await body()
            } catch let failure as Failure {
                let next = nextAttempt(
                    after: failure, attempt: attempt, since: start,
                    hold: failure.retryAfter.map { .now + $0 })
                let delay: Duration = try next.get() - .now
                onRetry(failure, attempt, delay)
                attempt += 1
                // Task.sleep needs a pool thread, and waitForTask() may block all pool threads.
                let (ticks, timer) = AsyncStream<Void>.makeStream()
                let end = DispatchTime.now() + delay / .seconds(1)
                DispatchQueue.global().asyncAfter(deadline: end) { timer.finish() }
                for await _ in ticks {}
                try Task.checkCancellation()
            }
        }
    }
}

package protocol RetriableFailure: Error {
    var isTransient: Bool { get }
    var isOverload: Bool { get }
    var retryAfter: Duration? { get }
    var outOfTime: Self { get }
}

extension RetryAfter {
    package static func delay(of head: ResponseHead, now: Date = Date()) -> Duration? {
        delay(
            head.headers[first: "Retry-After"], date: head.headers[first: "Date"],
            age: head.headers[first: "Age"], now: now)
    }
}
