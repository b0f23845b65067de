import Testing

@testable import LarderRehearsal

@Suite struct RehearsalReportTests {
    private func report(_ change: (inout StrategyReport) -> Void) -> RehearsalReport {
        var strategy = StrategyReport(.sandbox)
        change(&strategy)
        return RehearsalReport(
            TableRows(["https://a.example/1"]), badEntries: 0, visible: 1, prefetchAhead: 0,
            memoryLimit: 1, strategies: [StrategyReport(.memory), strategy])
    }

    @Test func whatIsSound() {
        #expect(report { _ in }.isSound)
        #expect(report { $0.rows.unseen = 1 }.isSound)
        #expect(!report { $0.rows.wrong = 1 }.isSound)
        #expect(!report { $0.rows.failed = 1 }.isSound)
        // Of a row that was gone by then, or was only ahead.
        #expect(!report { $0.link.failures = 1 }.isSound)
        #expect(report { $0.isInterrupted = true }.isInterrupted)
        var bad = report { _ in }
        bad.badEntries = 1
        #expect(!bad.isSound)
    }
}
