import Testing

@testable import LarderRehearsal

@Suite struct ScrollPatternTests {
    @Test(arguments: ScrollPattern.allCases, [0, 1, 5, 12, 13, 1000])
    func staysWithinTheTable(_ pattern: ScrollPattern, _ rows: Int) {
        let trace = pattern.trace(rows: rows, visible: 12)
        #expect(trace.events.first?.time == 0)
        #expect(trace.events.first?.first == 0)
        var last = 0.0
        for event in trace.events {
            #expect(event.time >= last)
            last = event.time
            let range = event.rows(of: rows)
            #expect(range.count == min(rows, 12))
            #expect(range.upperBound <= rows)
        }
    }

    @Test(arguments: [ScrollPattern.slow, .fling, .thereAndBack])
    func comesToTheLastRow(_ pattern: ScrollPattern) {
        let trace = pattern.trace(rows: 500, visible: 10)
        #expect(trace.events.map(\.first).max() == 490)
        #expect(trace.events.last?.first == (pattern == .thereAndBack ? 0 : 490))
    }

    @Test func speeds() {
        // 490 rows beyond the first screen: 49 screens.
        #expect(ScrollPattern.slow.trace(rows: 500, visible: 10).duration == 98)
        #expect(ScrollPattern.thereAndBack.trace(rows: 500, visible: 10).duration == 49)
        let fling = ScrollPattern.fling.trace(rows: 500, visible: 10).duration
        #expect((20...60).contains(fling))
    }

    @Test func jumpsReturn() {
        let places = ScrollPattern.jump.trace(rows: 1000, visible: 10).events.map(\.first)
        #expect(places.count == 40)
        #expect(Set(places).count == 20)
        #expect(Array(places[..<20]) == Array(places[20...]))
    }
}
