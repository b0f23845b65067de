import BenchmarkSupport

/// A chart of races: a bar for each median, and a line from the best to the worst round.
struct Bars {
    let title: String
    let results: [Result]

    var svg: String {
        let races = results.filter { $0.standings.count > 1 }
        let rows = races.reduce(0) { $0 + $1.standings.count }
        let (left, right, row, gap) = (150.0, 760.0, 20.0, 46.0)
        let height = 44 + Double(rows) * row + Double(races.count) * gap
        var canvas = SVGCanvas(width: right + 100, height: height)
        canvas.text(title, x: 10, y: 24, style: "h")
        var y = 44.0
        for race in races {
            // Each race has its own scale, because only the ratio of the times matters. Very long
            // bars are cut, so that the others are visible.
            let usual = race.standings.map(\.wall.median).sorted()[(race.standings.count - 1) / 2]
            let longest = min(race.standings.map(\.wall.maximum).max() ?? 1, 3 * usual)
            func place(_ seconds: Double) -> Double {
                left + min(seconds, longest) / longest * (right - left)
            }
            canvas.text("\(race.scenario), \(race.entries.grouped) icons", x: 10, y: y + 20)
            y += 30
            for (index, standing) in race.standings.enumerated() {
                let style = standing.contender == Standing.subject ? "c0" : "c4"
                let wall = standing.wall
                canvas.text(standing.contender, x: left - 8, y: y + 13, anchor: .end, style: "n")
                canvas.bar(
                    x: left, y: y + 2, width: place(wall.median) - left, height: row - 5,
                    style: style)
                canvas.line(
                    place(wall.minimum), y + row / 2, place(wall.maximum), y + row / 2, style: "w")
                let isCut = wall.median > longest
                canvas.text(
                    "\(wall.median.fixed(2)) s" + (isCut ? " (cut)" : ""),
                    x: place(wall.maximum) + 8, y: y + 13, style: index == 0 ? "t" : "n")
                y += row
            }
            y += gap - 30
        }
        return canvas.svg(title: title)
    }
}
