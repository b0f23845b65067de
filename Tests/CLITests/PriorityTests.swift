import LarderTestSupport
import Testing

/// The order of requests by priority, observed with a single connection.
@Suite struct PriorityTests {
    /// Priorities as manifests write them, and their numeric values.
    private static let priorities: [(any Sendable, Int)] = [
        (1000, 1000), (9, 9), ("veryHigh", 8), ("high", 4), (1, 1), ("normal", 0), (-1, -1),
        ("low", -4), ("veryLow", -8), (-300, -300),
    ]

    @Test(arguments: 1...4)
    func requestsAreOrderedByPriorityThenPosition(_ seed: Int) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(60)
            var random = Pseudorandom(seed: seed)
            let entries = urls.map { url in
                let (priority, value) = Self.priorities[random.next(below: Self.priorities.count)]
                return (entry: ["icon": url, "priority": priority] as ManifestEntry, value: value)
            }
            // `sorted` is stable, so entries of equal priority keep the order of the manifest.
            let expected = entries.enumerated().sorted { $0.element.value > $1.element.value }
                .map { "/\($0.offset)" }
            let run = try larder.prefetch(
                try larder.manifest(entries.map(\.entry)), options: ["--max-concurrent", "1"])
            #expect(run.status == 0)
            #expect(larder.origin.requests.map(\.path) == expected)
            #expect(larder.origin.mostConcurrentRequests == 1)
        }
    }

    /// The order of hosts within a priority is unspecified.
    @Test(arguments: 1...4)
    func requestsToSeveralHostsAreOrderedByPriority(_ seed: Int) async throws {
        try await withFixture { larder in
            let hosts = ["127.0.0.1", "localhost", "[::1]"].prefix(larder.origin.isOnIPv6 ? 3 : 2)
            larder.origin.onAny { Icons.reply(Int($0.path.dropFirst()) ?? 0) }
            var random = Pseudorandom(seed: seed)
            var values: [String: Int] = [:]
            let entries: [ManifestEntry] = (0..<60).map { number in
                let (priority, value) = Self.priorities[random.next(below: Self.priorities.count)]
                values["/\(number)"] = value
                let host = hosts[random.next(below: hosts.count)]
                return [
                    "icon": larder.origin.url("/\(number)", host: host), "priority": priority,
                ]
            }
            let run = try larder.prefetch(
                try larder.manifest(entries), options: ["--max-concurrent", "1"])
            #expect(run.summary.fetched == 60)
            let arrived = larder.origin.requests.compactMap { values[$0.path] }
            #expect(arrived == values.values.sorted(by: >))
        }
    }

    @Test func aURLHasTheHighestPriorityOfItsEntries() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest([
                ["icon": urls[0]], ["icon": urls[1], "priority": "low"],
                ["icon": urls[2], "priority": "high"], ["icon": urls[1], "priority": "veryHigh"],
            ])
            _ = try larder.prefetch(manifest, options: ["--max-concurrent", "1"])
            #expect(larder.origin.requests.map(\.path) == ["/1", "/2", "/0"])
        }
    }

    @Test func planListsIconsInPriorityOrder() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest([
                ["icon": urls[0]], ["icon": urls[1], "priority": "veryLow"],
                ["icon": urls[2], "priority": 5],
            ])
            let lines = try larder.run("plan", manifest).standardOutput.split(separator: "\n")
            #expect(
                lines == [
                    "missing  5  \(urls[2])", "missing  0  \(urls[0])", "missing  -8  \(urls[1])",
                    "3 entries (plain http 3); 3 URLs: missing 3",
                ])
        }
    }
}
