import LarderPrefetch
import LarderTestSupport
import Testing

@Suite(.timeLimit(.minutes(30))) struct FetchQueueTests {
    @Test func highPrioritiesAreRequestedFirst() async throws {
        let origin = try Origin()
        origin.onAny { request in .ok(IconPainter.png(seed: request.path.hashValue)) }
        try await withTemporaryDirectory { directory in
            let priorities = [0, -8, 8, 4, -4, 100, 0, -100, 4, 8]
            let entries = priorities.enumerated().map { number, priority in
                #"{"icon": "\#(origin.url("/\(number)"))", "priority": \#(priority)}"#
            }
            _ = try await prefetch(
                "[" + entries.joined(separator: ",") + "]", into: directory.path("cache")
            ) { $0.maximumConcurrent = 1 }
            // Manifest order for equal priorities.
            let expected = priorities.enumerated()
                .sorted { ($1.element, $0.offset) < ($0.element, $1.offset) }
                .map { "/\($0.offset)" }
            #expect(origin.requests.map(\.path) == expected)
        }
    }

    /// The redirected fetch becomes an operation after four others, which wait for the slot.
    @Test(arguments: [(8, 7), (1, 0), (0, -1), (-7, -8)])
    func aFetchOfHigherPriorityOvertakesWaitingOperations(
        high: Int, low: Int
    ) async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        origin.on("/high", .redirect(to: "/target"))
        try await withTemporaryDirectory { directory in
            let entries = [("/high", high)] + (0..<10).map { ("/\($0)", low) }
            let text = entries.map { path, priority in
                #"{"icon": "\#(origin.url(path))", "priority": \#(priority)}"#
            }
            _ = try await prefetch(
                "[" + text.joined(separator: ",") + "]", into: directory.path("cache")
            ) { $0.maximumConcurrent = 1 }
            // When the slot becomes free, the next operation starts before the redirect is read.
            let place = origin.requests.firstIndex { $0.path == "/target" }
            #expect(try #require(place) <= 2)
        }
    }

    /// The fetches that wait for a slot are operations too, but do not execute.
    @Test func onlyAsManyOperationsExecuteAsThereAreSlots() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)).heldBy(gate) }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 2
            let text = manifest((0..<10).map { origin.url("/\($0)") })
            var executing = 0
            for try await event in Prefetcher(configuration).prefetch(
                [.bytes(Array(text.utf8), name: "test")])
            {
                guard case .progress(let progress) = event, origin.count() >= 2,
                    progress.underWay >= 2
                else { continue }
                executing = max(executing, progress.underWay)
                gate.open()
            }
            #expect(executing == 2)
        }
    }

    @Test func timeoutsDoNotIncludeTheWaitForASlot() async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)).delayed(2) }
        try await withTemporaryDirectory { directory in
            let urls = (0..<4).map { origin.url("/\($0)") }
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 1
                $0.transfer.connectTimeout = .seconds(5)
                $0.transfer.totalTimeout = .seconds(5)
                $0.retry.attempts = 1
            }
            #expect(finished.report.count(.fetched) == 4, "\(finished.report.failures)")
        }
    }

    /// Otherwise, all failures would be in memory.
    @Test func requestsStopWhileFailuresAreNotRead() async throws {
        let origin = try Origin()
        origin.onAny { _ in .status(404) }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            let text = manifest((0..<8000).map { origin.url("/\($0)") })
            var failed = 0
            for try await event in Prefetcher(configuration).prefetch(
                [.bytes(Array(text.utf8), name: "test")])
            {
                guard case .entry(let result) = event, result.outcome == .failed else { continue }
                failed += 1
                guard failed == 1 else { continue }
                await #expect(throws: Origin.Timeout.self) {
                    try await origin.waitForRequests(7000, timeout: 10)
                }
            }
            #expect(failed == 8000)
        }
    }

    @Test func theRequestLimitsOfTheRunAndOfEachHostAreKept() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            .ok(IconPainter.png(seed: request.target.hashValue)).heldBy(gate)
        }
        try await withTemporaryDirectory { directory in
            let urls = (0..<40).map {
                origin.url("/\($0)", host: $0 % 2 == 0 ? "127.0.0.1" : "localhost")
            }
            async let finished = prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 7
                $0.maximumPerHost = 4
            }
            // Replies are held until the maximum number of requests has arrived.
            try await origin.waitForRequests(7)
            gate.open()
            #expect(try await finished.report.count(.fetched) == 40)
            #expect(origin.mostConcurrentRequests == 7)
            // Idle connections stay open.
            #expect(origin.mostConcurrentConnections <= 8)
            for host in ["127.0.0.1", "localhost"] {
                #expect((3...4).contains(origin.mostConcurrentRequests(host: host)))
                #expect(origin.mostConcurrentConnections(host: host) <= 4)
            }
        }
    }

    @Test func oneConnectionIsKeptForEachHost() async throws {
        let origin = try Origin()
        origin.onAny { request in .ok(IconPainter.png(seed: request.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let urls = (0..<180).map { origin.url("/\($0)", host: "h\($0 % 30).localhost") }
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 4
                $0.maximumPerHost = 1
            }
            #expect(finished.report.count(.fetched) == 180)
            #expect(origin.connectionsOpened == 30)
        }
    }

    @Test func aHostWithMostIconsDoesNotDelayOtherHosts() async throws {
        let origin = try Origin()
        origin.onAny { request in .ok(IconPainter.png(seed: request.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let many = (0..<200).map { origin.url("/\($0)", host: "h0.localhost") }
            let few = (1...20).map { origin.url("/", host: "h\($0).localhost") }
            _ = try await prefetch(manifest(many + few), into: directory.path("cache")) {
                $0.maximumConcurrent = 4
                $0.maximumPerHost = 4
            }
            let last = origin.requests.lastIndex { !$0.host.hasPrefix("h0.") }
            #expect(try #require(last) < 100)
        }
    }

    @Test func aSilentHostDoesNotDelayOtherHosts() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            return request.path.hasPrefix("/slow") ? reply.heldBy(gate) : reply
        }
        try await withTemporaryDirectory { directory in
            // The slow host comes first and has more entries than the queue holds.
            let slow = (0..<50).map { origin.url("/slow\($0)") }
            let fast = (0..<50).map { origin.url("/fast\($0)", host: "localhost") }
            async let finished = prefetch(manifest(slow + fast), into: directory.path("cache")) {
                $0.maximumConcurrent = 4
                $0.maximumPerHost = 2
                $0.transfer.stallTimeout = .seconds(600)
            }
            // All requests to the fast host arrive while two to the slow host are held.
            try await origin.waitForRequests(52)
            #expect(origin.requests.count { $0.path.hasPrefix("/slow") } == 2)
            gate.open()
            #expect(try await finished.report.count(.fetched) == 100)
        }
    }

    @Test(arguments: [2, 4, 6])
    func aSilentHostLeavesASlotForOtherHosts(concurrent: Int) async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            return request.path.hasPrefix("/slow") ? reply.heldBy(gate) : reply
        }
        try await withTemporaryDirectory { directory in
            let slow = (0..<50).map { origin.url("/slow\($0)") }
            let fast = (0..<50).map { origin.url("/fast\($0)", host: "localhost") }
            async let finished = prefetch(manifest(slow + fast), into: directory.path("cache")) {
                $0.maximumConcurrent = concurrent
                $0.maximumPerHost = 100
                $0.transfer.stallTimeout = .seconds(600)
            }
            // All requests to the fast host arrive while those to the slow host are held.
            try await origin.waitForRequests(50 + concurrent - 1)
            #expect(origin.requests.count { $0.path.hasPrefix("/fast") } == 50)
            gate.open()
            #expect(try await finished.report.count(.fetched) == 100)
        }
    }

    @Test func aRedirectedFetchKeepsItsLowPriorityAtTheTarget() async throws {
        let origin = try Origin()
        origin.onAny { request in
            request.path.hasPrefix("/from")
                ? .redirect(
                    to:
                        "http://127.0.0.1:\(request.header("Host")?.split(separator: ":").last ?? "")/low\(request.path.dropFirst(5))"
                )
                : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        try await withTemporaryDirectory { directory in
            let low = (0..<10).map {
                #"{"icon": "\#(origin.url("/from\($0)", host: "localhost"))", "priority": -8}"#
            }
            let high = (0..<20).map {
                #"{"icon": "\#(origin.url("/high\($0)"))", "priority": 8}"#
            }
            _ = try await prefetch(
                "[" + (low + high).joined(separator: ",") + "]", into: directory.path("cache")
            ) { $0.maximumPerHost = 1 }
            let targets = origin.requests.map(\.path).filter { !$0.hasPrefix("/from") }
            #expect(targets.count == 30)
            #expect(targets.prefix(20).allSatisfy { $0.hasPrefix("/high") })
        }
    }

    @Test func refusingHostsComeAfterServingHosts() async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        let refusing = try Origin.refusedPort()
        try await withTemporaryDirectory { directory in
            // Twenty origins that refuse connections, with ten URLs each, precede a working origin.
            let dead = (2..<22).flatMap { host in
                (0..<10).map { "http://127.0.0.\(host):\(refusing)/\($0)" }
            }
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 1
            configuration.retry.attempts = 1
            var failedBeforeTheLast = 0
            let text = manifest(dead + (0..<10).map { origin.url("/\($0)") })
            for try await event in Prefetcher(configuration).prefetch(
                [.bytes(Array(text.utf8), name: "test")])
            {
                guard case .entry(let result) = event, result.outcome == .failed else { continue }
                if origin.count() < 10 { failedBeforeTheLast += 1 }
            }
            // Each refusing origin was tried, and the queue held some of their fetches. The rest
            // came last.
            #expect(failedBeforeTheLast < 60)
        }
    }

    @Test func onlyTemporaryFailuresAreRetried() async throws {
        let origin = try Origin()
        origin.on("/busy") { request in
            request.attempt < 3 ? .status(502) : .ok(IconPainter.png(seed: 1))
        }
        origin.on("/gone", .status(404))
        origin.on("/never", .status(501))
        origin.on("/broken", .status(500))
        origin.on("/cut") { request in
            let reply = Reply.ok(IconPainter.png(seed: 2))
            return request.attempt < 2 ? reply.cut(after: 100) : reply
        }
        try await withTemporaryDirectory { directory in
            let paths = ["/busy", "/gone", "/never", "/broken", "/cut"]
            let (report, results) = try await prefetch(
                manifest(paths.map { origin.url($0) }), into: directory.path("cache")
            ) { $0.retry.attempts = 3 }
            #expect(report.failures == ["http-404": 1, "http-501": 1, "http-500": 1])
            #expect(paths.map { origin.count($0) } == [3, 1, 1, 3, 2])
            let attempts = results.sorted { $0.position < $1.position }.map(\.attempts)
            #expect(attempts == [3, 1, 1, 3, 2])
        }
    }

    @Test func redirectsAreFollowedAndLoopsAreStopped() async throws {
        let origin = try Origin()
        origin.on("/start", .redirect(to: "/middle", status: 301))
        origin.on("/middle", .redirect(to: origin.url("/end", host: "localhost"), status: 307))
        origin.on("/end", .ok(IconPainter.png(seed: 1)))
        origin.on("/loop", .redirect(to: "/loop"))
        origin.on("/out", .redirect(to: "file:///etc/passwd"))
        try await withTemporaryDirectory { directory in
            let (report, results) = try await prefetch(
                manifest(["/start", "/loop", "/out"].map { origin.url($0) }),
                into: directory.path("cache"))
            #expect(report.count(.fetched) == 1)
            #expect(report.failures == ["too-many-redirects": 1, "redirect-refused": 1])
            #expect(origin.count("/loop") == 11)
            // The resource keeps the URL in the manifest.
            let fetched = try #require(results.first { $0.outcome == .fetched })
            #expect(fetched.url == origin.url("/start"))
        }
    }

    @Test func redirectedRequestsKeepTheLimitOfTheTargetHost() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            if request.path.hasPrefix("/from") {
                return .redirect(to: origin.url("/to\(request.path)", host: "localhost"))
            }
            return .ok(IconPainter.png(seed: request.target.hashValue)).heldBy(gate)
        }
        try await withTemporaryDirectory { directory in
            let urls = (0..<12).map { origin.url("/from\($0)") }
            async let finished = prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumPerHost = 2
            }
            // All requests are redirected before the first reply from a target.
            try await origin.waitForRequests(14)
            gate.open()
            #expect(try await finished.report.count(.fetched) == 12)
            #expect(origin.mostConcurrentRequests(host: "localhost") == 2)
        }
    }
}
