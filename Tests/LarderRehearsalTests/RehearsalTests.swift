import Foundation
import Testing

@testable import LarderRehearsal

/// The scroll's clock.
@Suite(.timeLimit(.minutes(30))) struct RehearsalTests {
    private let rows = TableRows((0..<1000).map { "https://a.example/\($0)" })

    private func rehearse(
        _ trace: ScrollTrace, _ pace: RehearsalOptions.Pace, rows: TableRows? = nil
    ) async -> StrategyReport {
        var options = RehearsalOptions(.sandbox)
        options.pace = pace
        return await Rehearsal(
            rows ?? self.rows, trace, options, fetcher: StubFetcher(bytes: 100)
        ).run()
    }

    @Test func aFrameShowsTheLastEventThatIsDue() async {
        // A thousand events in a sixtieth of a second.
        let trace = ScrollTrace(
            (0..<1000).map { ScrollEvent(time: Double($0) / 1e6, first: $0, visible: 1) })
        let report = await rehearse(trace, .frames(speed: 1))
        #expect(report.rows.shown == 2)
    }

    @Test func withImagesEveryEventIsShown() async {
        let trace = ScrollTrace(
            (0..<1000).map { ScrollEvent(time: Double($0) / 1e6, first: $0, visible: 1) })
        let report = await rehearse(trace, .images)
        #expect(report.rows.shown == 1000)
        #expect(report.rows.unseen == 0)
    }

    @Test func aFasterClockTakesFewerFrames() async {
        let trace = ScrollTrace([
            ScrollEvent(time: 0, first: 0, visible: 5), ScrollEvent(time: 10, first: 5, visible: 5),
        ])
        let report = await rehearse(trace, .frames(speed: 100))
        #expect((6...400).contains(report.frames.count))
        #expect(report.scrollSeconds >= 10)
        #expect(report.rows.shown == 10)
    }

    @Test func aTableWithoutRows() async {
        let empty = TableRows([String?]())
        for pattern in ScrollPattern.allCases {
            let report = await rehearse(
                pattern.trace(rows: 0, visible: 5), .images, rows: empty)
            #expect(report.rows.shown == 0)
            #expect(report.waits == nil)
            #expect(!report.isInterrupted)
        }
    }
}
