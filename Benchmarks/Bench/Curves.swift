import BenchmarkSupport

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A chart of time and memory by the number of entries, with logarithmic axes.
struct Curves {
    let title: String
    let samples: [Sample]

    private struct Axis {
        let from: Double
        let to: Double
        let start: Double
        let end: Double

        init(_ numbers: [Double], start: Double, end: Double) {
            from = Self.exponent(numbers.min() ?? 1).rounded(.down)
            to = max(from + 1, Self.exponent(numbers.max() ?? 1).rounded(.up))
            (self.start, self.end) = (start, end)
        }

        func place(_ number: Double) -> Double {
            start + (Self.exponent(number) - from) / (to - from) * (end - start)
        }

        var ticks: [(number: Double, text: String)] {
            stride(from: from, through: to, by: 1).map { exponent in
                var number = 1.0
                for _ in 0..<Int(abs(exponent)) { number *= 10 }
                if exponent < 0 { number = 1 / number }
                let text =
                    exponent < 0 ? number.fixed(Int(-exponent)) : Int(number.rounded()).grouped
                return (number, text)
            }
        }

        private static func exponent(_ number: Double) -> Double { log10(max(number, 1e-6)) }
    }

    var svg: String {
        var canvas = SVGCanvas(width: 890, height: 400)
        canvas.text(title, x: 10, y: 24, style: "h")
        var names: [String] = []
        for sample in samples where !names.contains(series(of: sample)) {
            names.append(series(of: sample))
        }
        panel(&canvas, names, heading: "seconds", left: 60) { $0.wall }
        panel(&canvas, names, heading: "peak memory in MB", left: 490) { $0.peak / 1e6 }
        var x = 60.0
        for (index, name) in names.enumerated() {
            canvas.bar(x: x, y: 376, width: 12, height: 12, style: "c\(index % 5)")
            canvas.text(name, x: x + 17, y: 387, style: "n")
            x += 40 + Double(name.count) * 7
        }
        return canvas.svg(title: title)
    }

    private func series(of sample: Sample) -> String { "\(sample.contender), \(sample.scenario)" }

    private func panel(
        _ canvas: inout SVGCanvas, _ names: [String], heading: String, left: Double,
        _ value: (Usage) -> Double
    ) {
        let (top, bottom, right) = (60.0, 330.0, left + 350)
        let across = Axis(samples.map { Double($0.entries) }, start: left, end: right)
        let up = Axis(samples.map { value($0.usage) }, start: bottom, end: top)
        canvas.text(heading, x: left, y: 48)
        for tick in up.ticks {
            let y = up.place(tick.number)
            canvas.line(left, y, right, y, style: "g")
            canvas.text(tick.text, x: left - 6, y: y + 4, anchor: .end, style: "n")
        }
        for tick in across.ticks {
            canvas.text(
                tick.text, x: across.place(tick.number), y: bottom + 18, anchor: .middle, style: "n"
            )
        }
        canvas.text("entries", x: (left + right) / 2, y: bottom + 36, anchor: .middle, style: "n")
        for (index, name) in names.enumerated() {
            let own = samples.filter { series(of: $0) == name }
            let points = Set(own.map(\.entries)).sorted().map { entries in
                let numbers = own.filter { $0.entries == entries }.map { value($0.usage) }
                return (x: across.place(Double(entries)), y: up.place(Spread(numbers).median))
            }
            canvas.path(points, style: "c\(index % 5) path")
            for (x, y) in points { canvas.circle(x: x, y: y, style: "c\(index % 5)") }
        }
    }
}
