import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderManifest
@testable import LarderPrefetch

/// The order in which hosts are connected to, and the slots reserved for them.
@Suite struct HostConnectionTests {
    /// A schedule of a manifest, with simulated connections.
    private final class Run {
        var schedule: HostSchedule
        private let open: Open

        private final class Open { var origins: Set<String> = [] }

        init(
            _ entries: [(host: String, priority: Int)], slots: Int, connections: Int,
            perHost: Int = 6, in directory: TemporaryDirectory
        ) throws {
            let manifest = entries.enumerated().map { number, entry in
                """
                {"icon": "http://\(entry.host).example/\(number)", "priority": \(entry.priority)}
                """
            }
            let cache = try Cache.create(at: directory.path("cache"))
            let plan = try Plan(
                of: [.bytes(Array("[\(manifest.joined(separator: ","))]".utf8), name: "test")],
                by: Planner(cache: cache))
            let open = Open()
            self.open = open
            schedule = try HostSchedule(
                plan: plan, cache: cache, slots: slots, connections: connections,
                limits: HostLimits(perHost: perHost, most: perHost, ratePerHost: nil),
                isConnected: { open.origins.contains($0) })
            try schedule.begin()
        }

        struct Started {
            let next: HostSchedule.Next
            var fetch: Attempt { next.fetch }
            var name: String { (next.onlyConnects ? "connect " : "") + number }
            private var number: String {
                String(fetch.planned.url.split(separator: "/").last ?? "")
            }
            var origin: String { fetch.target.url.origin }
        }

        func take() throws -> [Started] {
            var taken: [Started] = []
            while let next = try schedule.next() {
                taken.append(Started(next: next))
            }
            return taken
        }

        func connected(_ started: Started) throws {
            open.origins.insert(started.origin)
            try schedule.endedConnecting(started.fetch, of: started.next.cursor, isOpen: true)
        }

        func failed(_ started: Started) throws {
            try schedule.note(.silent, of: started.next.cursor)
            try schedule.endedConnecting(started.fetch, of: started.next.cursor, isOpen: false)
        }

        func answered(_ started: Started) throws {
            try schedule.note(.answered, of: started.next.cursor)
            try schedule.ended(started.next.cursor)
        }

        func close(_ started: Started) { open.origins.remove(started.origin) }
    }

    private func withRun(
        _ hosts: String, priorities: [Int] = [], slots: Int, connections: Int, perHost: Int = 6,
        _ body: (Run) throws -> Void
    ) throws {
        let entries = hosts.enumerated().map { number, host in
            (host: "\(host)", priority: number < priorities.count ? priorities[number] : 0)
        }
        try withTemporaryDirectory { directory in
            try body(
                Run(
                    entries, slots: slots, connections: connections, perHost: perHost,
                    in: directory))
        }
    }

    @Test func hostsAreConnectedToWhileAllSlotsAreTaken() throws {
        try withRun("abcd", slots: 1, connections: 2) { run in
            let first = try run.take()
            #expect(first.map(\.name) == ["connect 0", "connect 1"])
            try run.connected(first[0])
            let second = try run.take()
            #expect(second.map(\.name) == ["0", "connect 2"])
            // The slot is taken. The unused connection counts towards the limit, so no other host
            // connects.
            try run.connected(first[1])
            #expect(try run.take().isEmpty)
            try run.answered(second[0])
            #expect(try run.take().map(\.name) == ["1", "connect 3"])
        }
    }

    @Test func aConnectingFetchReservesASlotFromLowerPriorities() throws {
        try withRun("abcd", priorities: [8], slots: 2, connections: 4) { run in
            let first = try run.take()
            #expect(first.count == 4)
            try run.connected(first[1])
            // The other slot is reserved for entry 0, which is still connecting.
            try run.connected(first[2])
            let taken = try run.take()
            #expect(taken.map(\.name) == ["1"], "\(taken.map(\.name)) \(first.map(\.name))")
            try run.failed(first[0])
            #expect(try run.take().map(\.name) == ["2"])
        }
    }

    @Test func fetchesWaitForTheFirstConnectionToTheirHost() throws {
        try withRun("aaaaa", slots: 3, connections: 2) { run in
            let first = try run.take()
            #expect(first.map(\.name) == ["connect 0"])
            try run.connected(first[0])
            #expect(try run.take().map(\.name) == ["0", "1", "2"])
        }
    }

    /// Otherwise each attempt would wait for the timeout of the previous one.
    @Test func fetchesToAnUnreachableHostConnectConcurrently() throws {
        try withRun("aaaa", slots: 3, connections: 2) { run in
            let first = try run.take()
            #expect(first.count == 1 && first.allSatisfy(\.next.sharesConnection))
            try run.failed(first[0])
            let next = try run.take()
            #expect(next.map(\.name) == ["connect 1", "connect 2"])
            #expect(next.allSatisfy { !$0.next.sharesConnection })
            // Only one of the two attempts gets a connection.
            try run.connected(next[1])
            #expect(try run.take().map(\.name) == ["2", "connect 3"])
        }
    }

    @Test func aClosedConnectionIsOpenedAgain() throws {
        try withRun("aab", slots: 1, connections: 1) { run in
            let first = try run.take()
            try run.connected(first[0])
            run.close(first[0])
            #expect(try run.take().map(\.name) == ["connect 0"])
        }
    }

    /// Only host o gets a connection.
    @Test func unreachableHostsLeaveTheSlotToOtherHosts() throws {
        try withRun("ozyxooo", slots: 1, connections: 2) { run in
            let first = try run.take()
            #expect(first.map(\.name) == ["connect 0", "connect 1"])
            try run.connected(first[0])
            var answered = 0
            var started = try run.take()
            while let next = started.first(where: { !$0.next.onlyConnects }) {
                answered += 1
                try run.answered(next)
                started = try run.take()
            }
            #expect(answered == 4)
        }
    }

    @Test(arguments: 0..<20, [0, 3])
    func everyFetchIsRequestedOnceWithinTheLimits(_ seed: Int, connections: Int) throws {
        var random = Pseudorandom(seed: seed)
        let hosts = String((0..<200).map { _ in "abcdef".randomElement(using: &random) ?? "a" })
        let priorities = (0..<200).map { _ in Int.random(in: -2...2, using: &random) }
        try withRun(
            hosts, priorities: priorities, slots: 5, connections: connections, perHost: 2
        ) { run in
            var inFlight: [Run.Started] = []
            var requested: Set<String> = []
            while true {
                for started in try run.take() {
                    inFlight.append(started)
                    guard !started.next.onlyConnects else { continue }
                    #expect(requested.insert(started.name).inserted)
                }
                let connecting = inFlight.filter(\.next.onlyConnects)
                #expect(connecting.count <= connections)
                #expect(inFlight.count - connecting.count <= 5)
                let perHost = Dictionary(grouping: inFlight, by: \.origin).mapValues(\.count)
                #expect(perHost.values.allSatisfy { $0 <= 2 })
                guard !inFlight.isEmpty else { break }
                let place = Int.random(in: inFlight.indices, using: &random)
                let ended = inFlight.remove(at: place)
                if !ended.next.onlyConnects {
                    if Bool.random(using: &random) { run.close(ended) }
                    try run.answered(ended)
                } else if Int.random(in: 0..<4, using: &random) == 0 {
                    // A retry without delay.
                    try run.failed(ended)
                    try run.schedule.put(back: ended.fetch)
                } else {
                    try run.connected(ended)
                }
            }
            #expect(requested.count == 200)
            let isEmpty = run.schedule.isEmpty
            #expect(isEmpty)
        }
    }
}
