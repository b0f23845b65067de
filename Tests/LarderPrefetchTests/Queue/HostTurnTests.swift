import Foundation
import LarderPrefetch
import LarderTestSupport
import Testing

/// The order of requests to many hosts, as seen by the origin.
@Suite(.timeLimit(.minutes(30))) struct HostTurnTests {
    private func fetch(
        _ urls: [String], from origin: Origin,
        configure: @escaping (inout PrefetchConfiguration) -> Void
    ) async throws -> [Request] {
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(
                manifest(urls), into: directory.path("cache"), configure: configure)
            #expect(finished.report.count(.fetched) == urls.count)
        }
        return origin.requests
    }

    @Test func aConnectedHostGetsATurnOfSeveralRequests() async throws {
        let origin = try Origin()
        // Round robin over all hosts, as in a manifest sorted by name.
        let urls = (0..<200).map { origin.url("/\($0)", host: "h\($0 % 10).localhost") }
        let requests = try await fetch(urls, from: origin) {
            $0.maximumConcurrent = 1
            // Otherwise requests overtake those to a host that is slow to connect.
            $0.transfer.maximumConnectionsAhead = 0
        }
        #expect(Set(requests.prefix(40).map(\.host)).count <= 6)
        // No host gets a second turn before all hosts have had their first.
        for host in 0..<10 {
            let own = requests.indices.filter { requests[$0].host == requests[0].host }
            let first = requests.firstIndex { $0.host.hasPrefix("h\(host).") }
            #expect(try #require(first) < own[16])
        }
    }

    @Test func aHostWithHalfOfTheIconsIsNotLeftForTheEnd() async throws {
        let origin = try Origin()
        let many = (0..<100).map { origin.url("/\($0)", host: "h0.localhost") }
        let few = (0..<100).map { origin.url("/\($0)", host: "h\(1 + $0 / 2).localhost") }
        let requests = try await fetch(many + few, from: origin) { $0.maximumConcurrent = 4 }
        // The other hosts last until the end, because this host gets half of the requests.
        let last = requests.lastIndex { !$0.host.hasPrefix("h0.") }
        #expect(try #require(last) > 150)
    }

    /// Round robin over more hosts than connections stay open. Turns of one request would need a
    /// connection for each request.
    @Test func moreHostsThanConnectionsGetTurnsOfManyRequests() async throws {
        let origin = try Origin()
        let urls = (0..<800).map { origin.url("/\($0)", host: "h\($0 % 20).localhost") }
        _ = try await fetch(urls, from: origin) {
            $0.maximumConcurrent = 2
            $0.transfer.maximumIdleConnections = 8
        }
        // About three turns for each host.
        #expect((20...100).contains(origin.connectionsOpened), "\(origin.connectionsOpened)")
    }

    /// With a rate, the host cannot start another request at once.
    @Test(arguments: [nil, 1000.0])
    func theConnectionToAHostIsClosedAfterItsLastRequest(rate: Double?) async throws {
        let origin = try Origin()
        let urls = (0..<100).map { origin.url("/\($0)", host: "h\($0 / 2).localhost") }
        _ = try await fetch(urls, from: origin) {
            $0.maximumConcurrent = 1
            $0.maximumPerHost = rate == nil ? 6 : 1
            $0.ratePerHost = rate
        }
        #expect(origin.connectionsOpened == 50)
        #expect(origin.mostConcurrentConnections <= 25)
    }

    /// Regression: comparing a retry at the lowest priority with another one overflowed.
    @Test func retriesAtTheLowestPriorityDoNotOverflow() async throws {
        let origin = try Origin()
        origin.onAny { request in
            let icon = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            // All retries are due before the host has room for them.
            if request.target.hasPrefix("/slow") {
                return icon.trickled(icon.bodyLength / 10, every: 0.02)
            }
            return origin.count(request.target) == 1 ? .status(500) : icon
        }
        let targets = (0..<20).map { "/\($0)" } + (0..<4).map { "/slow\($0)" }
        let entries = targets.map {
            #"{"icon": "\#(origin.url($0))", "priority": \#(Int.min)}"#
        }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(
                "[" + entries.joined(separator: ",") + "]", into: directory.path("cache")
            ) {
                $0.maximumConcurrent = 1
                $0.retry.base = .milliseconds(20)
            }
            #expect(finished.report.count(.fetched) == entries.count)
        }
    }

    @Test func iconsOfAHostThatIsAlsoARedirectTargetAreFetched() async throws {
        let origin = try Origin()
        // Each target comes later in the manifest, or is missing from it.
        origin.onAny { request in
            request.target.hasPrefix("/to/")
                ? .redirect(
                    to: origin.url("/away", host: "h\(request.target.dropFirst(4)).localhost"))
                : .ok(IconPainter.png(seed: request.target.hashValue))
        }
        let urls = (0..<40).flatMap { host in
            ["/to/\((host + 7) % 47)", "/own"].map { origin.url($0, host: "h\(host).localhost") }
        }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 2
            }
            #expect(finished.report.count(.fetched) == urls.count)
        }
        #expect(origin.count("/own") == 40)
        #expect(origin.count("/away") == 40)
    }

    @Test func prioritiesCanBeAnyInteger() async throws {
        let origin = try Origin()
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue)) }
        let priorities = [Int.min, 0, .max, .min, .max, -1]
        let entries = priorities.enumerated().map {
            #"{"icon": "\#(origin.url("/\($0)"))", "priority": \#($1)}"#
        }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(
                "[" + entries.joined(separator: ",") + "]", into: directory.path("cache")
            ) { $0.maximumConcurrent = 1 }
            #expect(finished.report.count(.fetched) == priorities.count)
        }
        #expect(origin.requests.map(\.target) == ["/2", "/4", "/1", "/5", "/0", "/3"])
    }

    /// 600 icons of 30 hosts. Each reply takes 20 ms.
    @Test func noHostExceedsItsRequestLimit() async throws {
        let origin = try Origin()
        let urls = (0..<600).map { number in
            // The frequency of the hosts is 1, 1/2, 1/3, and so on.
            let share = Double(number * 7 % 600) / 600 * log(30.5)
            return origin.url("/\(number)", host: "h\(Int(exp(share) - 0.5)).localhost")
        }
        origin.onAny { .ok(IconPainter.png(seed: $0.target.hashValue, size: 8)).delayed(0.02) }
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(manifest(urls), into: directory.path("cache")) {
                $0.maximumConcurrent = 16
                $0.maximumPerHost = 4
            }
            #expect(finished.report.count(.fetched) == 600)
        }
        let histogram = origin.requestsByConcurrency
        print("requests in flight to their host:", histogram.sorted { $0.key < $1.key })
        #expect(histogram.values.reduce(0, +) == 600)
        #expect(try #require(histogram.keys.max()) <= 4)
        #expect(origin.mostConcurrentRequests <= 16)
    }

    /// Otherwise all requests that wait for a connection would be sent once it is open.
    @Test func withARateAHostGetsOneRequestUntilItAnswers() async throws {
        let origin = try Origin()
        let gate = try Gate()
        origin.onAny { request in
            let reply = Reply.ok(IconPainter.png(seed: request.target.hashValue))
            if request.target == "/last" { gate.open() }
            return request.host.hasPrefix("slow.") ? reply.heldBy(gate) : reply
        }
        let slow = (0..<20).map { origin.url("/\($0)", host: "slow.localhost") }
        let quick = (0..<40).map { origin.url("/\($0)") } + [origin.url("/last")]
        try await withTemporaryDirectory { directory in
            let finished = try await prefetch(
                manifest(slow + quick), into: directory.path("cache")
            ) { $0.ratePerHost = 200 }
            #expect(finished.report.count(.fetched) == 61)
        }
        let requests = origin.requests
        let last = try #require(requests.firstIndex { $0.target == "/last" })
        #expect(requests.prefix(last).count { $0.host.hasPrefix("slow.") } == 1)
    }
}
