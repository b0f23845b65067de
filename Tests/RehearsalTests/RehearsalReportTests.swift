import Foundation
import LarderTestSupport
import Testing

@testable import rehearse

@Suite struct RehearsalReportTests {
    private func report(
        _ strategies: [StrategyReport], memoryLimit: Int = 2_000_000
    ) -> RehearsalReport {
        RehearsalReport(
            TableRows(["https://a.example/1", nil]), badEntries: 0, visible: 1, prefetchAhead: 3,
            memoryLimit: memoryLimit, strategies: strategies)
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

    @Test(arguments: [
        (32 << 20, "33.6 MB (32 MiB)"), (1 << 30, "1.1 GB (1 GiB)"), (1 << 10, "1.0 kB (1 KiB)"),
        (1000 << 20, "1.0 GB (1000 MiB)"), (64_000_000, "64.0 MB"), (1_000_000_000_000, "1.0 TB"),
        (1_000_001, "1.0 MB"),
    ])
    func aLimitInPowersOfTwoIsShownInBothUnits(_ bytes: Int, _ text: String) {
        let first = report([], memoryLimit: bytes).text.split(separator: "\n").first
        #expect(first?.hasSuffix("; memory limit \(text)") == true)
    }

    /// Milliseconds would hide the duration of a frame without a download.
    @Test func timesInJSONHaveMicroseconds() {
        var strategy = StrategyReport(.sandbox)
        strategy.frames.add(.microseconds(234))
        strategy.waits = StrategyReport.Waits(p50: 0.000_012, p95: 0.0171, p99: 1.5)
        let json = report([strategy]).json
        for member in [
            "\"longest_frame\":0.000234", "\"wait_p50\":1.2e-05", "\"wait_p95\":0.0171",
            "\"wait_p99\":1.5",
        ] {
            #expect(json.contains(member), "\(member)")
        }
    }

    @Test func aJSONReportIsReadAsWritten() throws {
        var strategy = StrategyReport(.memory)
        strategy.rows.shown = 7
        strategy.link.bytes = 1 << 40
        strategy.frames.add(.milliseconds(20))
        strategy.waits = StrategyReport.Waits(p50: 0.5, p95: 1, p99: 2.25)
        strategy.warnings = [MemoryWarning(time: 1.5, before: 3, after: 0)]
        strategy.curve = [MemoryCurve.Point(time: 0, held: 1, resident: 2)]
        strategy.scrollSeconds = 12
        strategy.isInterrupted = true
        let report = report([strategy])
        try withTemporaryDirectory { directory in
            let file = directory.path("memory.json")
            try Data(report.json.utf8).write(to: URL(fileURLWithPath: file))
            let read = try RehearsalReport.strategy(inFile: file)
            #expect(self.report([read]).json == report.json)
            #expect(self.report([read]).text == report.text)
        }
    }

    @Test func aReportWithoutIconsHasNoTable() {
        let empty = RehearsalReport(
            TableRows([nil, nil]), badEntries: 0, visible: 0, prefetchAhead: 3, memoryLimit: 1,
            strategies: [])
        #expect(empty.text == "2 rows, 2 without an icon: no icons to rehearse")
    }

    @Test func wrongImagesAndInterruptsAreReported() {
        var wrong = StrategyReport(.memory)
        #expect(wrong.complaints.isEmpty)
        wrong.rows.wrong = 2
        #expect(wrong.complaints == ["memory: 2 rows showed another row's image"])
        wrong.isInterrupted = true
        #expect(wrong.complaints.first == "interrupted; incomplete: memory")
    }

    @Test func failuresAndWrongImagesMakeAReportUnsound() {
        func isSound(_ change: (inout StrategyReport) -> Void) -> Bool {
            var strategy = StrategyReport(.sandbox)
            change(&strategy)
            return strategy.isSound
        }
        #expect(isSound { _ in })
        #expect(isSound { $0.rows.unseen = 1 })
        #expect(!isSound { $0.rows.wrong = 1 })
        #expect(!isSound { $0.rows.failed = 1 })
        // The row of a failed request may have left, or may not have appeared yet.
        #expect(!isSound { $0.link.failures = 1 })
    }
}
