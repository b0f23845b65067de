import LarderTestSupport
import LarderTestTLS
import Testing

/// Limits on concurrent requests and on bandwidth, measured at the server.
@Suite struct LimitsTests {
    @Test(arguments: [(4, 6, 4), (5, 3, 5), (16, 2, 4), (1, 6, 1), (16, 1, 2)])
    func requestsInFlightReachButDoNotExceedTheLimits(
        _ concurrent: Int, _ perHost: Int, _ expected: Int
    ) async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let gate = try Gate()
            origin.onAny { Icons.reply(Int($0.path.dropFirst()) ?? 0).heldBy(gate) }
            let urls = (0..<30).map { origin.url("/\($0)", host: Self.hosts[$0 % 2]) }
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: urls), report: report,
                options: ["-j", "\(concurrent)", "--max-per-host", "\(perHost)"])
            // The server responds only after the expected number of requests has arrived.
            try await origin.waitForRequests(expected)
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.summary.fetched == 30)
            #expect(origin.mostConcurrentRequests == expected)
            for host in Self.hosts {
                #expect(origin.mostConcurrentRequests(host: host) <= perHost)
                // Idle connections stay open, but no more than were in use at once.
                #expect(
                    origin.mostConcurrentConnections(host: host) <= min(concurrent, perHost))
            }
        }
    }

    /// Each stream of an HTTP/2 connection counts as a request in flight.
    @Test(arguments: [(16, 3, 3), (4, 6, 4)])
    func http2StreamsReachButDoNotExceedTheLimits(
        _ concurrent: Int, _ perHost: Int, _ expected: Int
    ) async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let front = try TLSFront(originPort: origin.port)
            let gate = try Gate()
            origin.onAny { Icons.reply(Int($0.path.dropFirst()) ?? 0).heldBy(gate) }
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: (0..<30).map { front.url("/\($0)") }), report: report,
                options: [
                    "--max-concurrent", "\(concurrent)", "--max-per-host", "\(perHost)",
                    "--ca-cert", TestCertificates.authorityPath,
                ])
            try await origin.waitForRequests(expected)
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.summary.fetched == 30, "\(run.finished)")
            #expect(Set(front.protocols) == ["h2"])
            #expect(front.mostConcurrentStreams == expected)
            #expect(front.requestCount == 30)
        }
    }

    /// The slow host has the first 100 entries of the manifest.
    @Test func aSlowHostDoesNotDelayOtherHosts() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let slow = try Origin()
            slow.onAny { Icons.reply(1000 + (Int($0.path.dropFirst()) ?? 0)).heldBy(gate) }
            let slowURLs = (0..<100).map { slow.url("/\($0)") }
            let quickURLs = larder.origin.serveIcons(60)
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: slowURLs + quickURLs), report: report)
            try await larder.origin.waitForRequests(60)
            #expect(slow.count() <= 6)
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 0)
            #expect(run.summary.fetched == 160)
        }
    }

    @Test func redirectsCountTowardTheLimitOfTheTargetHost() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let target = try Origin()
            target.onAny { Icons.reply(Int($0.path.dropFirst()) ?? 0).delayed(0.005) }
            origin.onAny { .redirect(to: target.url($0.path)) }
            let run = try larder.prefetch(
                try larder.manifest(
                    urls: (0..<60).map { origin.url("/\($0)", host: Self.hosts[$0 % 2]) }),
                options: ["--max-per-host", "2"])
            #expect(run.summary.fetched == 60)
            #expect(target.mostConcurrentRequests <= 2)
            #expect(target.mostConcurrentConnections <= 2)
        }
    }

    @Test func limitRateAppliesToAllTransfersTogether() async throws {
        try await withFixture { larder in
            let body = [UInt8](repeating: 7, count: 150_000)
            larder.origin.onAny { _ in .ok(body) }
            let run = try larder.prefetch(
                try larder.manifest(urls: (0..<2).map { larder.origin.url("/\($0)") }),
                options: ["--any-content", "--limit-rate", "100kB"])
            #expect(run.outcomes.count { $0 == "fetched" } == 2, "\(run.finished)")
            #expect(run.summary.receivedBytes == 300_000)
            #expect(run.summary.seconds >= 2)
        }
    }

    private static let hosts = ["127.0.0.1", "localhost"]
}
