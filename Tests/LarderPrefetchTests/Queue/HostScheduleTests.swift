import Foundation
import LarderCache
import LarderTestSupport
import Testing

@testable import LarderManifest
@testable import LarderPrefetch

/// The order of fetches, without any requests.
@Suite(.timeLimit(.minutes(30))) struct HostScheduleTests {
    /// Calls `body` with the schedule of a manifest that has these hosts and priorities.
    private func withSchedule(
        of entries: [(host: Int, priority: Int)], slots: Int = 1, connections: Int = 0,
        perHost: Int = 1, interval: Duration? = nil, shard: Shard? = nil,
        readAhead: Int = HostSchedule.readAhead,
        now: @escaping () -> HostSchedule.Instant = { .now },
        isConnected: @escaping (String) -> Bool = { _ in true },
        _ body: (inout HostSchedule) throws -> Void
    ) throws {
        let manifest = entries.enumerated().map { number, entry in
            let url = "http://h\(entry.host).example/\(number)"
            return #"{"icon": "\#(url)", "priority": \#(entry.priority)}"#
        }
        try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path("cache"))
            let plan = try Plan(
                of: [.bytes(Array("[\(manifest.joined(separator: ","))]".utf8), name: "test")],
                by: Planner(cache: cache))
            var schedule = try HostSchedule(
                plan: plan, cache: cache, slots: slots, connections: connections,
                limits: HostLimits(
                    perHost: perHost, most: perHost,
                    ratePerHost: interval.map { .seconds(1) / $0 }, shard: shard),
                readAhead: readAhead, now: now, isConnected: isConnected)
            try schedule.begin()
            try body(&schedule)
        }
    }

    /// Takes all fetches, one at a time. Each is answered.
    private func order(of entries: [(host: Int, priority: Int)], readAhead: Int) throws -> [String]
    {
        var order: [String] = []
        try withSchedule(of: entries, readAhead: readAhead) { schedule in
            while let next = try schedule.next() {
                order.append(next.fetch.planned.url)
                try schedule.note(.answered, of: next.cursor)
                try schedule.ended(next.cursor)
            }
            let isEmpty = schedule.isEmpty
            #expect(isEmpty)
        }
        return order
    }

    /// There are 300 hosts, and room for 256 connections, of which the least recently used is
    /// closed. In round-robin order, each request would open a connection.
    @Test func hostsWithAnOpenConnectionComeFirst() throws {
        let (hosts, each, room) = (300, 60, 256)
        let entries = (0..<hosts * each).map { (host: $0 % hosts, priority: 0) }
        var open: [String] = []
        var made = 0
        func use(_ next: HostSchedule.Next) throws {
            let origin = try next.fetch.planned.target.origin
            if let place = open.firstIndex(of: origin) {
                open.remove(at: place)
            } else {
                made += 1
                if open.count >= room { open.removeFirst() }
            }
            if !next.isLast { open.append(origin) }
        }
        let isOpen = { (origin: String) in open.contains(origin) }
        try withoutActuallyEscaping(isOpen) { isOpen in
            try withSchedule(of: entries, slots: 48, perHost: 6, isConnected: isOpen) { schedule in
                var inFlight: [HostSchedule.Next] = []
                while let next = try schedule.next() {
                    inFlight.append(next)
                    // The oldest fetch sends its request now.
                    guard inFlight.count == 48 else { continue }
                    let ended = inFlight.removeFirst()
                    try use(ended)
                    try schedule.note(.answered, of: ended.cursor)
                    try schedule.ended(ended.cursor)
                }
            }
        }
        // The last fetches do not send their requests here.
        #expect((hosts...hosts * 3 / 2).contains(made), "\(made)")
    }

    /// A limit of one, or a rate, keeps the host from starting another request.
    @Test(arguments: [nil, Duration.milliseconds(1)])
    func theLastRequestOfAHostIsMarked(interval: Duration?) throws {
        let entries = (0..<20).map { (host: $0 % 10, priority: 0) }
        try withSchedule(of: entries, slots: 4, interval: interval) { schedule in
            var last: [Bool] = []
            while last.count < 20 {
                guard let next = try schedule.next() else { continue }
                last.append(next.isLast)
                try schedule.note(.answered, of: next.cursor)
                try schedule.ended(next.cursor)
            }
            #expect(last.count { $0 } == 10)
        }
    }

    /// Neither a pause nor late answers allow two fetches in one interval.
    @Test(arguments: 0..<20) func fetchesOfAHostKeepItsRate(seed: Int) throws {
        let interval = Duration.milliseconds(100)
        let entries = (0..<80).map { (host: $0 % 2, priority: 0) }
        var random = Pseudorandom(seed: seed)
        var now = ContinuousClock.now
        try withSchedule(
            of: entries, slots: 8, perHost: 6, interval: interval, now: { now }
        ) { schedule in
            var starts: [Int: [HostSchedule.Instant]] = [:]
            var inFlight: [Int] = []
            while starts.values.reduce(0, { $0 + $1.count }) < entries.count {
                while let next = try schedule.next() {
                    starts[next.cursor, default: []].append(now)
                    inFlight.append(next.cursor)
                }
                now += .milliseconds([0, 1, 50, 99, 1000].randomElement(using: &random) ?? 0)
                inFlight.shuffle(using: &random)
                for _ in 0..<random.next(below: inFlight.count + 1) {
                    let cursor = inFlight.removeLast()
                    try schedule.note(.answered, of: cursor)
                    try schedule.ended(cursor)
                }
            }
            for own in starts.values {
                #expect(zip(own, own.dropFirst()).allSatisfy { $1 - $0 >= interval })
            }
        }
    }

    /// Its share of the remaining icons would be nearly all slots.
    @Test func aHostWithMostIconsGetsHalfOfTheSlots() throws {
        let few = (1...8).flatMap { host in (0..<20).map { _ in (host: host, priority: 0) } }
        let many = (0..<1_000).map { _ in (host: 0, priority: 0) }
        try withSchedule(of: few + many, slots: 16, perHost: 16) { schedule in
            let first = try (0..<9).map { _ in try #require(try schedule.next()).cursor }
            for cursor in first {
                try schedule.note(.answered, of: cursor)
                try schedule.ended(cursor)
            }
            var hosts: [String] = []
            while hosts.count < 16, let next = try schedule.next() {
                hosts.append(try next.fetch.planned.target.host)
            }
            #expect(hosts.count { $0 == "h0.example" } == 8)
        }
    }

    /// Each host serves a single icon, so it is finished after one request.
    @Test(arguments: [nil, Duration.milliseconds(1)])
    func cursorsOfFinishedHostsAreRemoved(interval: Duration?) throws {
        let entries = (0..<2_000).map { (host: $0, priority: 0) }
        try withSchedule(of: entries, interval: interval, readAhead: 64) { schedule in
            var (taken, most) = (0, 0)
            while taken < entries.count {
                guard let next = try schedule.next() else { continue }
                taken += 1
                try schedule.note(.answered, of: next.cursor)
                try schedule.ended(next.cursor)
                most = max(most, schedule.cursors.count)
            }
            #expect(most <= entries.count / 2)
        }
    }

    /// Redirected fetches wait in memory until the slow host takes them.
    @Test func aFastHostThatRedirectsToASlowHostWaitsForIt() throws {
        let entries = (0..<3_000).map { _ in (host: 0, priority: 0) }
        try withSchedule(of: entries, slots: 48, perHost: 6) { schedule in
            var slow: [Int] = []
            var (quick, ended, most) = (0, 0, 0)
            repeat {
                while let next = try schedule.next() {
                    guard next.fetch.target.redirects == 0 else {
                        slow.append(next.cursor)
                        continue
                    }
                    quick += 1
                    try schedule.note(.answered, of: next.cursor)
                    try schedule.ended(next.cursor)
                    var target = next.fetch.target
                    try target.follow(
                        "http://slow.example/\(quick)", freshUntil: .now, allowsDowngrade: false)
                    try schedule.put(back: next.fetch.redirected(to: target))
                }
                most = max(most, quick - ended)
                if let cursor = slow.popLast() {
                    ended += 1
                    try schedule.ended(cursor)
                }
            } while !slow.isEmpty
            #expect((quick, ended) == (3_000, 3_000))
            #expect(most < 1_100)
            let isEmpty = schedule.isEmpty
            #expect(isEmpty)
        }
    }

    @Test func outdatedEntriesOfTheScheduleDoNotAccumulate() throws {
        let entries = (0..<30_000).map { (host: $0 % 300, priority: 0) }
        try withSchedule(of: entries, slots: 48, perHost: 18, readAhead: 256) { schedule in
            var inFlight: [Int] = []
            var most = 0
            while let next = try schedule.next() {
                inFlight.append(next.cursor)
                guard inFlight.count >= 48 else { continue }
                let cursor = inFlight.removeFirst()
                try schedule.note(.answered, of: cursor)
                try schedule.ended(cursor)
                most = max(most, schedule.ready.count)
            }
            #expect(most <= 2 * 300 + HostSchedule.readAhead + 1)
        }
    }

    @Test func theOrderDoesNotDependOnTheReadAhead() throws {
        // Round robin over more hosts than are read ahead, with several turns each and two
        // priorities.
        let entries = (0..<2_000).map { (host: $0 % 50, priority: $0 % 7 == 0 ? 3 : 0) }
        let order = try order(of: entries, readAhead: 10_000)
        #expect(Set(order).count == entries.count)
        #expect(try self.order(of: entries, readAhead: 8) == order)
    }

    @Test func hostsGetTheirFirstTurnInTheOrderOfTheirFirstIcons() throws {
        let entries = [(3, 0), (1, 0), (2, 5), (1, 9), (0, 0), (3, 5)].map {
            (host: $0.0, priority: $0.1)
        }
        #expect(
            try order(of: entries, readAhead: 1)
                == [
                    "1.example/3", "2.example/2", "3.example/5", "3.example/0", "1.example/1",
                    "0.example/4",
                ]
                .map { "http://h\($0)" })
    }
}
