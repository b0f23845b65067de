import LarderKit
import LarderTestSupport
import Testing

/// In which order many hosts are asked, seen at the origin.
@Suite struct HostTurnTests {
    private func fetch(
        _ urls: [String], from origin: Origin,
        configure: @escaping (inout PrefetchConfiguration) -> Void
    ) async throws -> [Request] {
        origin.onAny { request in .ok(IconPainter.png(seed: request.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(
                manifest(urls), into: directory.path("cache"), configure: configure)
            #expect(finished.report.count(.fetched) == urls.count)
        }
        return origin.requests
    }

    @Test func aHostThatIsConnectedToHasATurnOfSomeRequests() async throws {
        let origin = try Origin()
        // Round and round over all hosts, as a manifest by name has them.
        let urls = (0..<200).map { origin.url("/\($0)", host: "h\($0 % 10).localhost") }
        let requests = try await fetch(urls, from: origin) { $0.maximumConcurrent = 1 }
        #expect(Set(requests.prefix(40).map(\.host)).count <= 6)
        // And nobody has a second turn before all have had their first.
        for host in 0..<10 {
            let own = requests.indices.filter { requests[$0].host == requests[0].host }
            let first = requests.firstIndex { $0.host.hasPrefix("h\(host).") }
            #expect(try #require(first) < own[16])
        }
    }

    @Test func aHostWithMostOfTheIconsIsNotLeftForTheEnd() async throws {
        let origin = try Origin()
        let many = (0..<100).map { origin.url("/\($0)", host: "h0.localhost") }
        let few = (0..<100).map { origin.url("/\($0)", host: "h\(1 + $0 / 2).localhost") }
        let requests = try await fetch(many + few, from: origin) { $0.maximumConcurrent = 4 }
        // It is asked for its half from the beginning.
        let last = requests.lastIndex { !$0.host.hasPrefix("h0.") }
        #expect(try #require(last) > 150)
    }

    @Test func aHostsConnectionIsClosedWithItsLastRequest() async throws {
        let origin = try Origin()
        let urls = (0..<100).map { origin.url("/\($0)", host: "h\($0 / 2).localhost") }
        _ = try await fetch(urls, from: origin) { $0.maximumConcurrent = 1 }
        #expect(origin.connectionsOpened == 50)
        #expect(origin.mostConcurrentConnections <= 10)
    }
}
