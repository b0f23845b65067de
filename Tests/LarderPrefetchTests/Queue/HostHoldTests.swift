import Foundation
import LarderCore
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// Origins that ask to be left alone, or are not there, beside others.
@Suite(.timeLimit(.minutes(30))) struct HostHoldTests {
    @Test(arguments: [false, true])
    func nothingIsAskedBeforeTheTimeThatRetryAfterNames(asDate: Bool) async throws {
        let origin = try Origin()
        let patience = Duration.seconds(2)
        let firstAsked = Mutex<ContinuousClock.Instant?>(nil)
        origin.onAny { request in
            let first = firstAsked.withLock { first in
                first = first ?? request.arrival
                return first ?? request.arrival
            }
            guard request.arrival - first < patience else {
                return .ok(IconPainter.png(seed: request.target.hashValue))
            }
            // A date has whole seconds only: one more, so that it is not before its time.
            let date = HTTPDate.string(from: Date(timeIntervalSinceNow: 3))
            return .status(429).header("Retry-After", asDate ? date : "2")
        }
        try await withTemporaryDirectory { directory in
            let urls = (0..<60).map { origin.url("/\($0)") }
            let (report, _) = try await prefetch(manifest(urls), into: directory.path("cache"))
            #expect(report.count(.fetched) == 60)
            let arrivals = origin.requests.map(\.arrival)
            // Those that were on their way when the first answer came, and no other.
            let early = arrivals.filter { $0 - arrivals[0] < patience }
            #expect((1...6).contains(early.count))
            #expect(arrivals.count == 60 + early.count)
        }
    }

    @Test func aHostThatAsksForPatienceHoldsUpNobodyElse() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.host == "127.0.0.1"
                ? .status(429).header("Retry-After", "3600")
                : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        try await withTemporaryDirectory { directory in
            // It leads the manifest, with more entries than all windows hold.
            let urls = ["127.0.0.1", "localhost", "[::1]"].flatMap { host in
                (0..<100).map { origin.url("/\($0)", host: host) }
            }
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 8
            configuration.retry.maximumTime = .seconds(100_000)
            let prefetcher = Prefetcher(configuration)
            async let finished = collect(prefetcher, manifest(urls))
            // All of theirs, and of the leading one's what was on its way when it first answered.
            var seen = origin.requests
            while seen.count(where: { $0.host != "127.0.0.1" }) < 200 {
                try await origin.waitForRequests(seen.count + 1)
                seen = origin.requests
            }
            prefetcher.cancel()
            let report = try await finished.report
            #expect(report.count(.fetched) == 200)
            #expect(report.count(.unfinished) == 100)
            #expect((1...6).contains(origin.requests.count { $0.host == "127.0.0.1" }))
        }
    }

    /// The next one waits in the queue when the first answer comes.
    @Test func whatWaitsInTheQueueIsHeldBackToo() async throws {
        let origin = try Origin()
        origin.onAny { _ in .status(429).header("Retry-After", "3600") }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 1
            configuration.retry.maximumTime = .seconds(100_000)
            let prefetcher = Prefetcher(configuration)
            let text = manifest(["/a", "/b", "/c"].map { origin.url($0) })
            var beats = 0
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                // A good while after the answer, by the run's own clock.
                if case .progress = event, origin.count() > 0 { beats += 1 }
                if beats == 5 { prefetcher.cancel() }
            }
            #expect(origin.count() == 1)
        }
    }

    /// Never long enough to be too long, and never of any use.
    @Test func aHostThatAsksForALittleTimeAgainAndAgainIsGivenUp() async throws {
        let origin = try Origin()
        origin.onAny { _ in .status(429).header("Retry-After", "1") }
        try await withTemporaryDirectory { directory in
            let (report, results) = try await prefetch(
                manifest((0..<100).map { origin.url("/\($0)") }), into: directory.path("cache")
            ) {
                $0.maximumPerHost = 1
                $0.retry.maximumTime = .seconds(2)
                $0.retry.overloadBase = .milliseconds(1)
            }
            #expect(report.count(.failed) == 100)
            #expect((report.failures["host-unavailable"] ?? 0) > 90)
            #expect(results.count { $0.attempts == 0 } > 90)
            // Two seconds' worth, and not a hundred times five.
            #expect(origin.count() < 10)
        }
    }

    @Test func attemptsThatWaitFailWithTheirHost() async throws {
        let origin = try Origin()
        let (first, second) = (try Gate(), try Gate())
        origin.on("/first", Reply.status(429).header("Retry-After", "3000").heldBy(first))
        origin.on("/second", Reply.status(503).header("Retry-After", "99999").heldBy(second))
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.retry.maximumTime = .seconds(5000)
            let text = manifest(["/first", "/second"].map { origin.url($0) })
            var report: Report?
            var beats = 0
            let events = Prefetcher(configuration)
                .prefetch([.bytes(Array(text.utf8), name: "test")])
            for try await event in events {
                if case .finished(let finished) = event { report = finished }
                // Neither answer before both were asked for: the first would hold up the other.
                guard case .progress = event, origin.count() == 2 else { continue }
                first.open()
                beats += 1
                // A good while after the first answer, by the run's own clock.
                if beats == 5 { second.open() }
            }
            // Now, not in fifty minutes.
            #expect(report?.failures == ["host-unavailable": 2])
            #expect(origin.count() == 2)
        }
    }

    @Test func aHostThatAsksForTooLongIsGivenUpAtOnce() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.host == "localhost"
                ? .status(503).header("Retry-After", "86400")
                : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        try await withTemporaryDirectory { directory in
            let held = (0..<3000).map { origin.url("/\($0)", host: "localhost") }
            let urls = held + (0..<20).map { origin.url("/\($0)") }
            let (report, results) = try await prefetch(
                manifest(urls), into: directory.path("cache"))
            #expect(report.count(.fetched) == 20)
            #expect(report.failures == ["host-unavailable": 3000])
            let messages = Set(results.compactMap(\.failure?.message))
            #expect(messages.count == 1)
            #expect(messages.first?.contains("24 h") == true)
            #expect(messages.first?.contains("--retry-max-time") == true)
            // Those that were on their way, and no other.
            #expect(origin.mostConcurrentRequests(host: "localhost") <= 6)
            #expect(origin.requests.count { $0.host == "localhost" } <= 12)
            #expect(results.count { $0.attempts == 0 } >= 2988)
        }
    }

    /// What waits is in memory: a host that fails for a million URLs must not fill it.
    @Test func aHostThatFailsForEverythingIsNotAskedForEverything() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.host == "localhost"
                ? .status(503) : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        try await withTemporaryDirectory { directory in
            let failing = (0..<3000).map { origin.url("/\($0)", host: "localhost") }
            let text = manifest(failing + (0..<50).map { origin.url("/\($0)") })
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            // Whatever is drawn, hardly any attempt is made again while this test lasts.
            configuration.retry.overloadBase = .seconds(100_000)
            configuration.retry.cap = .seconds(100_000)
            configuration.retry.maximumTime = .seconds(1_000_000)
            let prefetcher = Prefetcher(configuration)
            var beats = 0
            var fetched = 0
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                switch event {
                case .entry(let result) where result.outcome == .fetched: fetched += 1
                // Icons are reported when they are durable, which may be after these requests.
                case .progress where origin.count() >= 1024 + 50 && fetched >= 50: beats += 1
                default: continue
                }
                if beats == 5 { prefetcher.cancel() }
            }
            #expect(fetched == 50)
            // And those that were on their way when the last of them failed.
            #expect(origin.requests.count { $0.host == "localhost" } < 1024 + 50)
        }
    }

    @Test func aHostThatNeverAnswersIsGivenUpInTime() async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        let refusing = try Origin.refusedPort()
        try await withTemporaryDirectory { directory in
            let dead = (0..<500).map { "http://127.0.0.1:\(refusing)/\($0)" }
            let (report, _) = try await prefetch(
                manifest(dead + [origin.url("/a")]), into: directory.path("cache")
            ) {
                $0.retry.maximumTime = .milliseconds(200)
                $0.retry.base = .milliseconds(20)
            }
            #expect(report.count(.fetched) == 1)
            #expect(report.count(.failed) == 500)
            #expect((report.failures["host-unavailable"] ?? 0) > 0)
        }
    }

    @Test func requestsToOneHostKeepToTheRate() async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let urls = ["127.0.0.1", "localhost"].flatMap { host in
                (0..<12).map { origin.url("/\($0)", host: host) }
            }
            let start = ContinuousClock.now
            let (report, _) = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.ratePerHost = 20
                $0.maximumConcurrent = 4
            }
            #expect(report.count(.fetched) == 24)
            for host in ["127.0.0.1", "localhost"] {
                let arrivals = origin.requests.filter { $0.host == host }.map(\.arrival)
                // Eleven intervals of 50 ms, whenever the first was noticed.
                #expect(try #require(arrivals.max()) - start >= .milliseconds(11 * 50))
            }
        }
    }
}
