import Foundation
import LarderImages
import Testing

@testable import rehearse

@Suite struct MemoryChartTests {
    private func report(_ strategies: [StrategyReport]) -> RehearsalReport {
        RehearsalReport(
            TableRows(["https://a.example/1"]), badEntries: 0, visible: 1, prefetchAhead: 0,
            memoryLimit: 1000, strategies: strategies)
    }

    private func strategy(_ name: StrategyName, warnings: Int = 0) -> StrategyReport {
        var report = StrategyReport(name)
        var curve = MemoryCurve()
        for number in 0..<100 {
            curve.add(time: Double(number), held: number * 10, resident: 5_000_000)
        }
        report.curve = curve.points
        (report.peakHeld, report.peakResident, report.scrollSeconds) = (990, 5_000_000, 100)
        report.warnings = (0..<warnings).map {
            MemoryWarning(time: Double($0) / 100, before: 1000, after: 0)
        }
        return report
    }

    @Test func theChartHasAPanelForEachStrategy() throws {
        let chart = MemoryChart(report(StrategyName.allCases.map { strategy($0, warnings: 3) }))
        for name in StrategyName.allCases {
            #expect(chart.svg.contains(">\(name.rawValue)</text>"))
        }
        #expect(chart.svg.components(separatedBy: "class='held'").count == 6)
        #expect(chart.svg.components(separatedBy: "class='resident'").count == 6)
        #expect(chart.svg.components(separatedBy: "class='limit'").count == 6)
        #expect(chart.svg.components(separatedBy: "class='warning'").count == 16)
        #expect(chart.svg.contains("prefers-color-scheme:dark"))
    }

    @Test(arguments: [0, 1, 10_000])
    func everyChartIsAValidImage(_ warnings: Int) throws {
        for strategies in [[], [StrategyReport(.memory)], [strategy(.sandbox, warnings: warnings)]]
        {
            let svg = MemoryChart(report(strategies)).svg
            let info = try Array(svg.utf8).withUnsafeBytes { try ImageInspector.inspect($0) }
            #expect(info.mediaType.rawValue == "image/svg+xml")
            #expect(!svg.contains("nan") && !svg.contains("inf"))
            #expect(svg.utf8.count < 200_000)
        }
    }
}
