import Foundation
import LarderCache
import LarderPrefetch
import LarderTestSupport
import Testing

/// Complete runs against origins that fail at random.
@Suite(.timeLimit(.minutes(30))) struct FaultsTests {
    @Test(.enabled(if: testShare == 1, "Scripts/test --all runs it"))
    func thirteenThousandEntriesAreFetchedThoughThirtyPercentOfResponsesFail() async throws {
        let origin = try Origin()
        // At most four failures in a row, so five attempts are enough.
        let faulty = FaultyOrigin(
            seed: 1, percent: 30, faults: FaultyOrigin.Fault.transient, recoversAt: 5)
        origin.onAny { faulty.reply(to: $0) }
        try await withTemporaryDirectory { directory in
            let urls = (0..<13_000).map {
                origin.url("/\($0)", host: ["127.0.0.1", "localhost"][$0 % 2])
            }
            let (report, results) = try await prefetch(
                manifest(urls), into: directory.path("cache")
            ) {
                $0.retry.base = .milliseconds(2)
                $0.retry.overloadBase = .milliseconds(20)
            }
            #expect(report.count(.fetched) == 13_000, "\(report.failures)")
            #expect(results.map(\.attempts).max() == 5)
            // The expected number of requests per entry is 1 + 0.3 + 0.09 + 0.027 + 0.0081.
            #expect((18_000...19_000).contains(origin.count()))
            let cache = try Cache.open(at: directory.path("cache"))
            #expect(try cache.status().totals.objects == 13_000)
            #expect(try cache.verify().isClean)
        }
    }

    @Test(arguments: 1...share(of: 20))
    func everyRunEndsWhateverTheOriginDoes(seed: Int) async throws {
        let origin = try Origin()
        let faulty = FaultyOrigin(seed: seed, percent: 60, faults: FaultyOrigin.Fault.allCases)
        origin.onAny { faulty.reply(to: $0) }
        let (entries, attempts, perHost) = (40, 3, 6)
        var configuration = PrefetchConfiguration(cache: "")
        configuration.transfer.addressPolicy = .allowAll
        configuration.transfer.stallTimeout = .seconds(1)
        configuration.transfer.totalTimeout = .seconds(3)
        configuration.maximumObjectBytes = 100_000
        configuration.maximumPerHost = perHost
        configuration.retry.attempts = attempts
        configuration.retry.base = .milliseconds(10)
        configuration.retry.overloadBase = .milliseconds(20)
        configuration.retry.maximumTime = .seconds(20)
        configuration.policy.failureLifetime = .zero
        // The longest duration of every request and one second of Retry-After, times ten for a busy
        // machine.
        let bound = Duration.seconds((3 + 1) * 10 * attempts * (entries / perHost + 1))

        try await withTemporaryDirectory { [configuration] directory in
            var configuration = configuration
            configuration.cache = directory.path("cache")
            let text = manifest((0..<entries).map { origin.url("/\($0)") })
            let (report, results) = try await ended(
                Prefetcher(configuration), text, within: bound)
            #expect(report.entries == entries)
            #expect(report.count(.fetched) + report.count(.failed) == entries)
            #expect(results.filter { $0.outcome == .failed }.allSatisfy { $0.failure != nil })
            let cache = try Cache.open(at: configuration.cache)
            #expect(try cache.verify().isClean)
            for result in results where result.outcome == .fetched {
                let url = try #require(result.url)
                let object = try #require(try cache.resource(url)).object
                let path = String(url.drop { $0 != "/" }.dropFirst(2).drop { $0 != "/" })
                #expect(try cache.bytes(of: object) == FaultyOrigin.icon(path))
            }
            cache.close()

            // The next run has a healthy origin. Its timeouts are long, so that a busy machine does
            // not cause a stall.
            configuration.transfer.stallTimeout = .seconds(60)
            configuration.transfer.totalTimeout = .seconds(60)
            origin.onAny { .ok(FaultyOrigin.icon($0.path)) }
            let next = try await ended(Prefetcher(configuration), text, within: bound)
            #expect(next.report.count(.failed) == 0, "\(next.report.failures)")
        }
    }

    /// Runs the prefetcher to its end. After `bound`, records an issue and cancels the run.
    private func ended(
        _ prefetcher: Prefetcher, _ manifest: String, within bound: Duration
    ) async throws -> (report: Report, results: [EntryResult]) {
        let watchdog = Task {
            try await Task.sleep(for: bound)
            Issue.record("the run had not ended after \(bound)")
            prefetcher.cancel()
        }
        defer { watchdog.cancel() }
        return try await collect(prefetcher, manifest)
    }
}
