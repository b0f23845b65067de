import Testing

@testable import LarderPrefetch

@Suite struct HostLimitsTests {
    /// Of the six pieces of cdn.example.com, workers 0 and 1 of 4 have two, workers 2 and 3 one.
    private func limits(
        _ index: Int, perHost: Int = 6, most: Int = 6, rate: Double? = nil
    ) throws -> HostLimits {
        let split = try #require(HostSplit(host: "cdn.example.com", pieces: 6))
        let shard = try #require(Shard(index, of: 4, splits: [split]))
        return HostLimits(perHost: perHost, most: most, ratePerHost: rate, shard: shard)
    }

    @Test(arguments: [(0, 2), (1, 2), (2, 1), (3, 1)])
    func aWorkerGetsItsShareOfTheLimitsOfASplitHost(_ index: Int, _ requests: Int) throws {
        let limits = try limits(index, rate: 3)
        for origin in ["https://cdn.example.com:443", "http://cdn.example.com.:8080"] {
            let limit = limits.limit(ofOrigin: origin)
            #expect(limit.requests == requests)
            #expect(limit.interval == .seconds(2.0 / Double(requests)))
        }
    }

    @Test func aWorkerGetsAllLimitsOfAnyOtherHost() throws {
        let limit = try limits(0, rate: 3).limit(ofOrigin: "https://example.com:443")
        #expect(limit.requests == 6)
        #expect(limit.interval == .seconds(1.0 / 3))
    }

    /// The share applies to the user's limit. The limit of this run is separate.
    @Test func aShareIsCappedByTheLimitOfTheRun() throws {
        let origin = "https://cdn.example.com:443"
        #expect(try limits(0, perHost: 30, most: 7).limit(ofOrigin: origin).requests == 7)
        #expect(try limits(2, perHost: 30, most: 7).limit(ofOrigin: origin).requests == 5)
    }

    @Test func withoutAShardTheLimitsAreNotShared() {
        let limits = HostLimits(perHost: 6, most: 3, ratePerHost: nil)
        let limit = limits.limit(ofOrigin: "https://cdn.example.com:443")
        #expect(limit.requests == 3 && limit.interval == nil)
    }
}
