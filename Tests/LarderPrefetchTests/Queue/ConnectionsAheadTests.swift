import LarderHTTP
import LarderPrefetch
import LarderTestSupport
import LarderTestTLS
import Testing

/// Connections opened ahead of their requests, while every slot is taken.
@Suite(.timeLimit(.minutes(30))) struct ConnectionsAheadTests {
    let origin: Origin
    let gate: Gate

    init() throws {
        origin = try Origin()
        let gate = try Gate()
        self.gate = gate
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            return request.path == "/held" ? reply.heldBy(gate) : reply
        }
    }

    /// Prefetches with one slot. The request for `/held` keeps it until the gate opens.
    private func fetch(_ urls: [String], ahead: Int) async throws {
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 1
                $0.transfer.maximumConnectionsAhead = ahead
                $0.transfer.certificateAuthorities = TestCertificates.authorityPath
                // Ends the test if no connection opens the gate.
                $0.transfer.totalTimeout = .seconds(120)
                $0.retry.attempts = 1
            }
            let failures = finished.results.compactMap(\.failure?.message)
            #expect(finished.report.count(.fetched) == urls.count, "\(failures)")
        }
        #expect(origin.mostConcurrentRequests == 1)
    }

    private func others(_ count: Int) -> [String] {
        (1...count).map { origin.url("/\($0)", host: "h\($0).localhost") }
    }

    @Test func requestsWaitForASlotAndUseTheirOpenConnection() async throws {
        origin.onConnection { [gate] in if $0 == 6 { gate.open() } }
        try await fetch([origin.url("/held")] + others(5), ahead: 16)
        #expect(origin.connectionsOpened == 6)
    }

    @Test func requestsOverTLSWaitForASlotAndUseTheirOpenConnection() async throws {
        let front = try TLSFront(originPort: origin.port)
        defer { front.stop() }
        front.onConnection { [gate] in if $0 == 2 { gate.open() } }
        let others = (1...3).map { front.url("/\($0)", host: "localhost") }
        try await fetch([front.url("/held")] + others, ahead: 16)
        #expect(front.protocols == ["h2", "h2"])
    }

    @Test func connectionsAheadOfRequestsAreLimited() async throws {
        origin.onConnection { [gate] number in
            // The second connection that is opened ahead of its request.
            if number == 3 { gate.open() }
        }
        try await fetch([origin.url("/held")] + others(9), ahead: 2)
        #expect(origin.connectionsOpened == 10)
    }

    /// A connection to a proxy serves all hosts, including those it was not opened for.
    @Test(arguments: [1, 4]) func hostsBehindAProxyShareItsConnections(slots: Int) async throws {
        let proxies = try ProxySelection(proxy: origin.url(""), noProxy: "", environment: [:])
        gate.open()
        try await withTemporaryDirectory { directory in
            let urls = (0..<60).map { "http://h\($0 % 20).example/\($0)" }
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = slots
                $0.ratePerHost = 1000
                $0.transfer.proxies = proxies
            }
            #expect(finished.report.count(.fetched) == 60, "\(finished.report.failures)")
        }
    }

    @Test(arguments: [1, 2]) func unreachableHostsTakeNoSlot(ahead: Int) async throws {
        let blackHoles = try (0..<4).map { _ in try BlackHole() }
        try await withTemporaryDirectory { directory in
            var configuration = PrefetchConfiguration(cache: directory.path("cache"))
            configuration.transfer.addressPolicy = .allowAll
            configuration.maximumConcurrent = 1
            configuration.transfer.maximumConnectionsAhead = ahead
            configuration.transfer.connectTimeout = .seconds(600)
            configuration.grace = .zero
            let urls = [origin.url("/1")] + blackHoles.map { $0.url("/") } + [origin.url("/2")]
            let prefetcher = Prefetcher(configuration)
            let text = manifest(urls)
            var requestsInFlight: Int?
            for try await event in prefetcher.prefetch([.bytes(Array(text.utf8), name: "test")]) {
                guard case .progress(let progress) = event, origin.count() >= 2 else { continue }
                requestsInFlight = requestsInFlight ?? progress.underWay
                prefetcher.cancel()
            }
            // Connections to the unreachable hosts are not requests.
            #expect(try #require(requestsInFlight) <= 1)
        }
    }
}
