import LarderPresentation
import LarderRehearsal
import Testing

@Suite struct RehearsalTextTests {
    private func report(_ strategies: [StrategyReport]) -> RehearsalReport {
        RehearsalReport(
            TableRows(["https://a.example/1", nil]), badEntries: 0, visible: 1, prefetchAhead: 3,
            memoryLimit: 2_000_000, strategies: strategies)
    }

    @Test func columnsAreAligned() {
        var slow = StrategyReport(.synchronous)
        slow.waits = StrategyReport.Waits(p50: 0.000_21, p95: 0.045, p99: 75)
        slow.link.requests = 1_234_567
        let lines = report([slow, StrategyReport(.sandbox)]).text.split(separator: "\n")
        #expect(
            lines.first
                == "2 rows, 1 visible, 3 ahead, 1 without an icon; memory limit 2.0 MB")
        #expect(Set(lines.dropFirst().map(\.count)).count == 1)
        func cells(_ heading: String) -> [Substring] {
            lines.first { $0.hasPrefix(heading) }?.split(separator: "  ").suffix(2) ?? []
        }
        #expect(cells("visible to image, p50").map { $0.drop { $0 == " " } } == ["0.2 ms", "-"])
        #expect(cells("  p95").map { $0.drop { $0 == " " } } == ["45 ms", "-"])
        #expect(cells("  p99").map { $0.drop { $0 == " " } } == ["1 min 15 s", "-"])
    }

    @Test func whatIsWrongIsSaid() {
        var wrong = StrategyReport(.memory)
        wrong.rows.wrong = 2
        #expect(report([wrong]).complaints == ["memory: 2 rows had another row's image"])
        #expect(report([StrategyReport(.memory)]).complaints.isEmpty)
    }
}
