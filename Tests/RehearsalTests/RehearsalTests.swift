import Foundation
import Testing

@testable import rehearse

/// The clock of a scroll.
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

    @Test func aFrameShowsTheLastDueEvent() async {
        // A thousand events in a sixtieth of a second.
        let trace = ScrollTrace(
            (0..<1000).map { ScrollEvent(time: Double($0) / 1e6, first: $0, visible: 1) })
        let report = await rehearse(trace, .frames(speed: 1))
        #expect(report.rows.shown == 2)
    }

    @Test func waitingForImagesShowsEveryEvent() async {
        let trace = ScrollTrace(
            (0..<1000).map { ScrollEvent(time: Double($0) / 1e6, first: $0, visible: 1) })
        let report = await rehearse(trace, .images)
        #expect(report.rows.shown == 1000)
        #expect(report.rows.unseen == 0)
    }

    @Test func aFasterClockShowsFewerFrames() async {
        let trace = ScrollTrace([
            ScrollEvent(time: 0, first: 0, visible: 5), ScrollEvent(time: 10, first: 5, visible: 5),
        ])
        let report = await rehearse(trace, .frames(speed: 100))
        #expect((6...400).contains(report.frames.count))
        #expect(report.scrollSeconds >= 10)
        #expect(report.rows.shown == 10)
    }

    /// With a simulated bandwidth, these bytes are not part of the link's traffic.
    @Test(arguments: [nil, 1_000_000_000])
    func bytesThatTheFetcherWastedAreCounted(_ bytesPerSecond: Int64?) async {
        var options = RehearsalOptions(.asynchronous)
        options.pace = .images
        let report = await Rehearsal(
            rows, ScrollTrace([ScrollEvent(time: 0, first: 0, visible: 5)]), options,
            fetcher: StubFetcher(bytes: 100), bytesPerSecond: bytesPerSecond
        ) { 7 }.run()
        #expect(report.link.downloads == 5)
        #expect(report.link.wastedBytes == (bytesPerSecond == nil ? 7 : 0))
        #expect(report.link.bytes == 500 + report.link.wastedBytes)
    }

    @Test func aTableWithoutRowsCanBeRehearsed() async {
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
