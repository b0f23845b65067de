import Foundation

/// An SVG in the making. Colours are classes, so that it is legible on light and dark pages.
struct SVGCanvas {
    enum Anchor: String { case start, middle, end }

    let width: Double
    let height: Double
    private var elements: [String] = []

    init(width: Double, height: Double) {
        self.width = width
        self.height = height
    }

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

    /// A triangle that points down to a place.
    mutating func mark(x: Double, y: Double, style: String) {
        let points = [(x, y), (x - 4, y - 7), (x + 4, y - 7)]
            .map { "\(Self.number($0)),\(Self.number($1))" }.joined(separator: " ")
        elements.append("<polygon class='\(style)' points='\(points)'/>")
    }

    /// The whole document; `title` is what is read to those who do not see it.
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
