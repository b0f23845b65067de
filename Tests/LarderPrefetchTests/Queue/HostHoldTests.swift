import Foundation
import LarderCore
import LarderPrefetch
import LarderTestSupport
import Synchronization
import Testing

/// Origins that ask to wait or are unavailable, together with origins that serve.
@Suite(.timeLimit(.minutes(30))) struct HostHoldTests {
    @Test(arguments: [false, true])
    func noRequestIsSentBeforeTheTimeOfRetryAfter(asDate: Bool) async throws {
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
            // Dates have whole seconds, so a second of margin is added.
            let date = HTTPDate.string(from: Date(timeIntervalSinceNow: 3))
            return .status(429).header("Retry-After", asDate ? date : "2")
        }
        try await withTemporaryDirectory { directory in
            let urls = (0..<60).map { origin.url("/\($0)") }
            let (report, _) = try await prefetch(manifest(urls), into: directory.path("cache"))
            #expect(report.count(.fetched) == 60)
            let arrivals = origin.requests.map(\.arrival)
            // Only requests that were in flight at the first response arrived early.
            let early = arrivals.filter { $0 - arrivals[0] < patience }
            #expect((1...6).contains(early.count))
            #expect(arrivals.count == 60 + early.count)
        }
    }

    @Test func aHostThatAsksToWaitDoesNotDelayOtherHosts() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.host == "127.0.0.1"
                ? .status(429).header("Retry-After", "3600")
                : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        try await withTemporaryDirectory { directory in
            // This host comes first in the manifest.
            let urls = ["127.0.0.1", "localhost", "[::1]"].flatMap { host in
                (0..<100).map { origin.url("/\($0)", host: host) }
            }
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 8
            configuration.retry.maximumTime = .seconds(100_000)
            let prefetcher = Prefetcher(configuration)
            async let finished = collect(prefetcher, manifest(urls))
            // Waits for all requests to the other hosts.
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

    /// The next fetch waits in the operation queue when the first response arrives.
    @Test func fetchesInTheOperationQueueAreHeldToo() async throws {
        let origin = try Origin()
        origin.onAny { _ in .status(429).header("Retry-After", "3600") }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 1
            configuration.retry.maximumTime = .seconds(100_000)
            let prefetcher = Prefetcher(configuration)
            let text = manifest(["/a", "/b", "/c"].map { origin.url($0) })
            var ticks = 0
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                // Five progress events leave enough time for a wrong request.
                if case .progress = event, origin.count() > 0 { ticks += 1 }
                if ticks == 5 { prefetcher.cancel() }
            }
            #expect(origin.count() == 1)
        }
    }

    @Test func aHostThatKeepsAskingForShortWaitsIsGivenUp() async throws {
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
            // Two seconds of requests, instead of five attempts for each of 100 icons.
            #expect(origin.count() < 10)
        }
    }

    @Test func waitingRetriesFailWhenTheirHostIsGivenUp() async throws {
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
            var ticks = 0
            let events = Prefetcher(configuration)
                .prefetch([.bytes(Array(text.utf8), name: "test")])
            for try await event in events {
                if case .finished(let finished) = event { report = finished }
                // Both requests must arrive before the first reply, which would hold back the other
                // request.
                guard case .progress = event, origin.count() == 2 else { continue }
                first.open()
                ticks += 1
                // Five progress events leave enough time to process the first response.
                if ticks == 5 { second.open() }
            }
            // The first fetch fails now, not after 50 minutes.
            #expect(report?.failures == ["host-unavailable": 2])
            #expect(origin.count() == 2)
        }
    }

    @Test func aHostThatAsksForATooLongWaitIsGivenUpImmediately() async throws {
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
            // Only requests that were in flight at the first response.
            #expect(origin.mostConcurrentRequests(host: "localhost") <= 6)
            #expect(origin.requests.count { $0.host == "localhost" } <= 12)
            #expect(results.count { $0.attempts == 0 } >= 2988)
        }
    }

    /// Waiting retries are in memory, so a host that fails for all URLs must not fill it.
    @Test func aHostThatFailsEveryRequestIsNotSentAllRequests() async throws {
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
            // The delay is random, and almost certainly longer than this test.
            configuration.retry.overloadBase = .seconds(100_000)
            configuration.retry.cap = .seconds(100_000)
            configuration.retry.maximumTime = .seconds(1_000_000)
            let prefetcher = Prefetcher(configuration)
            var ticks = 0
            var fetched = 0
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                switch event {
                case .entry(let result) where result.outcome == .fetched: fetched += 1
                // Results are reported once they are durable, which may be after these requests.
                case .progress where origin.count() >= 1024 + 50 && fetched >= 50: ticks += 1
                default: continue
                }
                if ticks == 5 { prefetcher.cancel() }
            }
            #expect(fetched == 50)
            // The limit of waiting retries, and the requests in flight when it was reached.
            #expect(origin.requests.count { $0.host == "localhost" } < 1024 + 50)
        }
    }

    @Test func anUnreachableHostIsGivenUpAfterTheRetryTime() async throws {
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

    @Test func requestsToAHostKeepItsRate() async throws {
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
                // Eleven intervals of 50 ms after the start of the run, because arrivals may be
                // noticed late.
                #expect(try #require(arrivals.max()) - start >= .milliseconds(11 * 50))
            }
        }
    }

    /// Fetches that wait for a slot in the operation queue would start in a burst.
    @Test func requestsKeepTheRateAfterLateReplies() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            return request.path == "/0" ? reply : reply.heldBy(gate)
        }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 2
            configuration.ratePerHost = 20
            let text = manifest((0..<12).map { origin.url("/\($0)") })
            var opened: ContinuousClock.Instant?
            var ticks = 0
            for try await event in Prefetcher(configuration).prefetch(
                [.bytes(Array(text.utf8), name: "test")])
            {
                // Both slots are taken. Five progress events leave enough time for more operations.
                guard case .progress = event, origin.count() == 3 else { continue }
                ticks += 1
                guard ticks == 5 else { continue }
                opened = .now
                gate.open()
            }
            let start = try #require(opened)
            // Arrivals may be noticed late, but not early.
            let arrivals = origin.requests.map(\.arrival).sorted().dropFirst(3)
            #expect(arrivals.count == 9)
            for (number, arrival) in arrivals.enumerated() {
                #expect(arrival - start >= .milliseconds(50 * number))
            }
        }
    }
}
