import Foundation
import LarderCore
import LarderHTTP

/// Which failures are tried again, how often, and after what delay.
///
/// Exponential back-off with full jitter (Marc Brooker, "Exponential Backoff And Jitter", AWS
/// Architecture Blog, 2015): each delay is drawn evenly from zero to a ceiling that doubles.
public struct RetryPolicy: Sendable {
    /// Attempts for each URL, the first included. Default: 5.
    public var attempts = 5
    /// The ceiling of the delay after a first failure. Default: 100 ms.
    public var base: Duration = .milliseconds(100)
    /// The same after a status of ``overloadStatuses``. Default: 5 s.
    public var overloadBase: Duration = .seconds(5)
    /// No ceiling is higher. Default: 60 s.
    public var cap: Duration = .seconds(60)
    /// No attempt begins later than this after a URL's first one, and a host without a useful
    /// answer for longer is given up. Default: 10 min.
    public var maximumTime: Duration = .seconds(600)

    /// The defaults.
    public init() {}

    /// The statuses that may pass; every other one is final.
    public static let retriedStatuses: Set = [408, 425, 429, 500, 502, 503, 504, 522, 524]

    /// The statuses that ask for patience.
    public static let overloadStatuses: Set = [429, 503]

    /// The longest delay after this many failures, the last of them by overload or not.
    public func ceiling(afterFailures failures: Int, isOverload: Bool) -> Duration {
        let base = isOverload ? overloadBase : base
        return min(cap, base * (1 << min(max(failures, 1) - 1, 30)))
    }

    /// Returns the time of the next attempt, not before `hold`, or the final failure.
    func nextAttempt(
        after failure: ResourceFailure, attempt: Int, since start: ContinuousClock.Instant,
        hold: ContinuousClock.Instant?, now: ContinuousClock.Instant = .now
    ) -> Result<ContinuousClock.Instant, ResourceFailure> {
        guard failure.isTransient, attempt < attempts else { return .failure(failure) }
        let ceiling = ceiling(afterFailures: attempt, isOverload: failure.isOverload)
        var instant = now + ceiling * Double.random(in: 0...1)
        if let hold { instant = max(instant, hold) }
        guard instant - start <= maximumTime else { return .failure(failure.outOfTime) }
        return .success(instant)
    }
}

/// The time that a response asks to wait (RFC 9110, section 10.2.3).
enum RetryAfter {
    /// A century, in seconds.
    private static let longest: Int64 = 3_200_000_000

    static func delay(of head: ResponseHead, now: Date = Date()) -> Duration? {
        guard let field = head.headers[first: "Retry-After"] else { return nil }
        if !field.isEmpty, field.utf8.allSatisfy(\.isDigit) {
            return .seconds(min(Int64(field) ?? longest, longest))
        }
        guard let date = HTTPDate.parse(field) else { return nil }
        // The origin's own clock has set both. A cache on the way adds the time since.
        let sent = head.headers[first: "Date"].flatMap { HTTPDate.parse($0) } ?? now
        let age = head.headers[first: "Age"].flatMap { TimeInterval($0) } ?? 0
        return .seconds(max(0, date.timeIntervalSince(sent) - max(0, min(age, 1e9))))
    }
}
