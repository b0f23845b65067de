import LarderCache
import LarderTestSupport
import Testing

@testable import LarderKit

/// Which fetch is next, without anybody who is asked.
@Suite struct HostScheduleTests {
    /// Takes everything out, one request at a time, each of which is answered.
    private func order(of entries: [(host: Int, priority: Int)], readAhead: Int) throws -> [String]
    {
        let manifest = entries.enumerated().map { number, entry in
            #"{"icon": "http://h\#(entry.host).example/\#(number)", "priority": \#(entry.priority)}"#
        }
        return try withTemporaryDirectory { directory in
            let cache = try Cache.create(at: directory.path("cache"))
            let plan = try Plan(
                of: [.bytes(Array("[\(manifest.joined(separator: ","))]".utf8), name: "test")],
                rules: ManifestRules(), cache: cache, acceptsAnyContent: false,
                policy: PlanPolicy(), headers: RequestHeaders(), at: nil)
            var schedule = try HostSchedule(
                plan: plan, cache: cache, places: 1, perHost: 1, interval: nil,
                readAhead: readAhead)
            try schedule.begin()
            var order: [String] = []
            while let next = try schedule.next() {
                order.append(next.head.planned.url)
                try schedule.note(.answered, of: next.cursor, patience: .seconds(60))
                try schedule.ended(next.cursor)
            }
            let isEmpty = schedule.isEmpty
            #expect(isEmpty)
            return order
        }
    }

    @Test func theOrderDoesNotDependOnHowMuchIsReadAhead() throws {
        // Round and round, with more hosts than are read ahead, several turns each and some priorities.
        let entries = (0..<2_000).map { (host: $0 % 50, priority: $0 % 7 == 0 ? 3 : 0) }
        let order = try order(of: entries, readAhead: 10_000)
        #expect(Set(order).count == entries.count)
        #expect(try self.order(of: entries, readAhead: 8) == order)
    }

    @Test func hostsHaveTheirFirstTurnInTheOrderOfWhatTheyHaveFirst() throws {
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
