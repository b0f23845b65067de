import LarderHTTP
import LarderTestSupport
import Testing

@testable import LarderPrefetch

@Suite struct RetryPolicyTests {
    @Test func theDelayCeilingDoublesUpToTheCap() {
        let policy = RetryPolicy()
        let ordinary = (1...12).map { policy.ceiling(afterFailures: $0, isOverload: false) }
        #expect(
            ordinary.prefix(4) == [
                .milliseconds(100), .milliseconds(200), .milliseconds(400), .milliseconds(800),
            ])
        #expect(ordinary.suffix(2) == [.seconds(60), .seconds(60)])
        let overload = (1...6).map { policy.ceiling(afterFailures: $0, isOverload: true) }
        #expect(overload == [5, 10, 20, 40, 60, 60].map { .seconds($0) })
        #expect(policy.ceiling(afterFailures: 1_000_000, isOverload: true) == .seconds(60))
    }

    /// Full jitter: the delay is uniform between zero and the ceiling.
    @Test func delaysAreUniformBelowTheCeiling() throws {
        var policy = RetryPolicy()
        policy.attempts = 100
        let now = ContinuousClock.now
        for failures in [1, 3, 20] {
            for isOverload in [false, true] {
                let ceiling = policy.ceiling(afterFailures: failures, isOverload: isOverload)
                let failure = ResourceFailure(status: isOverload ? 503 : 500)
                let shares = try (0..<10_000).map { _ in
                    let instant = try policy.nextAttempt(
                        after: failure, attempt: failures, since: now, hold: nil, now: now
                    ).get()
                    return (instant - now) / ceiling
                }
                #expect(shares.allSatisfy { (0...1).contains($0) })
                for tenth in 0..<10 {
                    let count = shares.count { Int(min($0, 0.999) * 10) == tenth }
                    // Ten standard deviations around 1,000.
                    #expect((700...1300).contains(count))
                }
            }
        }
    }

    @Test func retriesEndWithTheAttemptsTheTimeOrAPermanentFailure() {
        var policy = RetryPolicy()
        policy.attempts = 2
        policy.maximumTime = .seconds(100)
        let now = ContinuousClock.now
        func next(
            _ failure: ResourceFailure, attempt: Int = 1, start: Duration = .zero,
            hold: Duration? = nil
        ) -> Result<ContinuousClock.Instant, ResourceFailure> {
            policy.nextAttempt(
                after: failure, attempt: attempt, since: now - start, hold: hold.map { now + $0 },
                now: now)
        }
        let passing = ResourceFailure(status: 500)
        #expect(next(passing, attempt: 2) == .failure(passing))
        #expect(next(ResourceFailure(status: 404)) == .failure(ResourceFailure(status: 404)))
        #expect(next(passing, hold: .seconds(100)) == .success(now + .seconds(100)))
        #expect(next(passing, hold: .seconds(101)) == .failure(passing.outOfTime))
        #expect(next(passing, start: .seconds(101)) == .failure(passing.outOfTime))
    }

    /// Compares the table of retried statuses with the requests at an origin, for every final
    /// status.
    @Test func exactlyTheStatusesInTheTableAreRetried() async throws {
        let origin = try Origin()
        let statuses = Array(204...599).filter { $0 != 206 && !(300...308).contains($0) }
        origin.onAny { request in
            .status(Int(request.path.dropFirst()) ?? 0)
        }
        var policy = RetryPolicy()
        policy.attempts = 4
        policy.base = .milliseconds(40)
        policy.overloadBase = .milliseconds(80)
        try await withTemporaryDirectory { [policy] directory in
            let (report, results) = try await prefetch(
                manifest(statuses.map { origin.url("/\($0)") }), into: directory.path("cache")
            ) { $0.retry = policy }
            #expect(report.count(.failed) == statuses.count)
            let attempts = Dictionary(
                uniqueKeysWithValues: results.map { ($0.failure?.code ?? "", $0.attempts) })
            for status in statuses {
                let isRetried = RetryPolicy.retriedStatuses.contains(status)
                #expect(origin.count("/\(status)") == (isRetried ? 4 : 1), "\(status)")
                #expect(attempts["http-\(status)"] == (isRetried ? 4 : 1), "\(status)")
            }
            for status in RetryPolicy.retriedStatuses {
                let arrivals = origin.requests.filter { $0.path == "/\(status)" }.map(\.arrival)
                for (failures, gap) in zip(1..., zip(arrivals, arrivals.dropFirst())) {
                    // Full jitter has no lower bound. The upper bound allows for a busy machine.
                    let ceiling = policy.ceiling(
                        afterFailures: failures,
                        isOverload: RetryPolicy.overloadStatuses.contains(status))
                    #expect(gap.1 - gap.0 < ceiling + .seconds(20), "\(status)")
                }
            }
        }
    }

    @Test func noAttemptStartsAfterTheMaximumTime() async throws {
        let origin = try Origin()
        origin.onAny { _ in .status(503) }
        try await withTemporaryDirectory { directory in
            let (report, results) = try await prefetch(
                manifest([origin.url("/a")]), into: directory.path("cache")
            ) {
                $0.retry.maximumTime = .milliseconds(1)
                // The random delay is below the maximum time only once in 60,000 runs.
                $0.retry.overloadBase = .seconds(60)
            }
            #expect(report.failures == ["http-503": 1])
            #expect(origin.count() == 1)
            #expect(results[0].failure?.message.contains("--retry-max-time") == true)
        }
    }
}
