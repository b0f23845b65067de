import BenchmarkSupport
import LarderCore

/// A chart of memory over time with a row for each strategy. The left half shows the images in
/// memory, the limit and the warnings. The right half shows the resident memory.
struct MemoryChart {
    private static let panel = (width: 380.0, height: 84.0)
    private static let top = 84.0
    private static let step = 118.0
    private static let left = (held: 70.0, resident: 520.0)
    /// The maximum number of marks. More would merge into a bar.
    private static let maximumMarks = 400

    private let report: RehearsalReport

    init(_ report: RehearsalReport) { self.report = report }

    var svg: String {
        let strategies = report.strategies
        let bottom = Self.top + Double(max(0, strategies.count - 1)) * Self.step + Self.panel.height
        var canvas = SVGCanvas(width: 930, height: bottom + 44)
        let title = "Memory while \(report.rows.of("row")) are scrolled through"
        canvas.text(title, x: 10, y: 24, style: "h")
        canvas.text(
            "memory of images; dashed: the limit; triangles: memory warnings",
            x: Self.left.held, y: 48, style: "n")
        canvas.text("resident memory of the process", x: Self.left.resident, y: 48, style: "n")
        let seconds = max(strategies.map(\.scrollSeconds).max() ?? 0, 0.001)
        let held = Double(max(report.memoryLimit, strategies.map(\.peakHeld).max() ?? 0))
        let resident = Double(max(strategies.map(\.peakResident).max() ?? 0, 1))
        for (index, strategy) in strategies.enumerated() {
            let top = Self.top + Double(index) * Self.step
            canvas.text(strategy.strategy.rawValue, x: Self.left.held, y: top - 8)
            panel(
                &canvas, strategy, Scale(Self.left.held, top, seconds, held), "held",
                ticks: [0, Double(report.memoryLimit)]
            ) { Double($0.held) }
            panel(
                &canvas, strategy, Scale(Self.left.resident, top, seconds, resident), "resident",
                ticks: [0, resident]
            ) { Double($0.resident) }
            warnings(&canvas, strategy, Scale(Self.left.held, top, seconds, held))
        }
        for left in [Self.left.held, Self.left.resident] {
            let scale = Scale(left, bottom, seconds, held)
            for tick in [0, seconds / 2, seconds] {
                canvas.text(
                    DurationText.describe(tick), x: scale.x(tick), y: bottom + 18,
                    anchor: .middle, style: "n")
            }
        }
        canvas.text(
            "scroll time", x: Self.left.held, y: bottom + 36, style: "n")
        return canvas.svg(
            title: title,
            light: """
                .held,.resident{fill:none;stroke-width:1.5;stroke-linejoin:round}\
                .held{stroke:#0969da}.resident{stroke:#8250df}\
                .limit{stroke:#cf222e;stroke-dasharray:5 4}.warning{fill:#cf222e}
                """,
            dark: """
                .held{stroke:#4493f8}.resident{stroke:#ab7df8}.limit{stroke:#f85149}\
                .warning{fill:#f85149}
                """)
    }

    private struct Scale {
        let left: Double
        let top: Double
        let seconds: Double
        let maximum: Double

        init(_ left: Double, _ top: Double, _ seconds: Double, _ maximum: Double) {
            (self.left, self.top, self.seconds) = (left, top, seconds)
            self.maximum = max(maximum, 1)
        }

        func x(_ time: Double) -> Double { left + time / seconds * MemoryChart.panel.width }
        func y(_ value: Double) -> Double { top + (1 - value / maximum) * MemoryChart.panel.height }
    }

    private func panel(
        _ canvas: inout SVGCanvas, _ strategy: StrategyReport, _ scale: Scale, _ style: String,
        ticks: [Double], _ value: (MemoryCurve.Point) -> Double
    ) {
        for tick in ticks {
            let y = scale.y(tick)
            canvas.line(scale.left, y, scale.left + Self.panel.width, y, style: "g")
            canvas.text(
                ByteText.describe(tick), x: scale.left - 6, y: y + 4, anchor: .end, style: "n")
        }
        canvas.path(strategy.curve.map { (scale.x($0.time), scale.y(value($0))) }, style: style)
    }

    private func warnings(
        _ canvas: inout SVGCanvas, _ strategy: StrategyReport, _ scale: Scale
    ) {
        let limit = scale.y(Double(report.memoryLimit))
        canvas.line(scale.left, limit, scale.left + Self.panel.width, limit, style: "limit")
        let every = max(1, strategy.warnings.count / Self.maximumMarks)
        for (index, warning) in strategy.warnings.enumerated() where index % every == 0 {
            canvas.mark(x: scale.x(warning.time), y: limit, style: "warning")
        }
    }
}
