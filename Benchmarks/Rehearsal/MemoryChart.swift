import Foundation
import LarderCore

/// A chart of memory over time with a row for each strategy. The left panel shows the images in
/// memory, the limit and the warnings. The right panel shows the resident memory.
struct MemoryChart {
    private static let panel = (width: 380.0, height: 84.0)
    private static let top = 84.0
    private static let step = 118.0
    private static let left = (held: 70.0, resident: 520.0)
    /// The maximum number of warning marks. More would merge into a bar.
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
            "time, on the clock of the scroll", x: Self.left.held, y: bottom + 36, style: "n")
        return canvas.svg(title: title)
    }

    /// The coordinates of values on a panel.
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
        func y(_ value: Double) -> Double {
            top + (1 - value / maximum) * MemoryChart.panel.height
        }
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

/// A builder of SVG charts. Colours are CSS classes, so that charts suit light and dark pages.
struct SVGCanvas {
    enum Anchor: String { case start, middle, end }

    let width: Double
    let height: Double
    private var elements: [String] = []

    init(width: Double, height: Double) { (self.width, self.height) = (width, height) }

    mutating func text(
        _ text: String, x: Double, y: Double, anchor: Anchor = .start, style: String = "t"
    ) {
        elements.append(
            "<text class='\(style)' x='\(Self.number(x))' y='\(Self.number(y))' "
                + "text-anchor='\(anchor)'>\(Self.markup(text))</text>")
    }

    mutating func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, style: String) {
        let places = [("x1", x1), ("y1", y1), ("x2", x2), ("y2", y2)]
            .map { "\($0)='\(Self.number($1))'" }.joined(separator: " ")
        elements.append("<line class='\(style)' \(places)/>")
    }

    mutating func path(_ points: [(x: Double, y: Double)], style: String) {
        let list = points.map { "\(Self.number($0.x)),\(Self.number($0.y))" }
            .joined(separator: " ")
        elements.append("<polyline class='\(style)' points='\(list)'/>")
    }

    /// Adds a triangle that points down to a position.
    mutating func mark(x: Double, y: Double, style: String) {
        let points = [(x, y), (x - 4, y - 7), (x + 4, y - 7)]
            .map { "\(Self.number($0)),\(Self.number($1))" }.joined(separator: " ")
        elements.append("<polygon class='\(style)' points='\(points)'/>")
    }

    /// Returns the document. Screen readers read `title`.
    func svg(title: String) -> String {
        let light = """
            text{font:13px system-ui,sans-serif;fill:#1f2328}.h{font-weight:600;font-size:15px}\
            .n{font-size:12px;fill:#59636e}.g{stroke:#d1d9e0}\
            .held,.resident{fill:none;stroke-width:1.5;stroke-linejoin:round}\
            .held{stroke:#0969da}.resident{stroke:#8250df}\
            .limit{stroke:#cf222e;stroke-dasharray:5 4}.warning{fill:#cf222e}
            """
        let dark = """
            text{fill:#f0f6fc}.n{fill:#9198a1}.g{stroke:#3d444d}.held{stroke:#4493f8}\
            .resident{stroke:#ab7df8}.limit{stroke:#f85149}.warning{fill:#f85149}
            """
        let size = "\(Int(width)) \(Int(height))"
        return """
            <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(size)' \
            width='\(Int(width))' role='img'>
            <title>\(Self.markup(title))</title>
            <style>\(light)
            @media (prefers-color-scheme:dark){\(dark)}</style>
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    private static func number(_ value: Double) -> String { String((value * 10).rounded() / 10) }

    private static func markup(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }
}
