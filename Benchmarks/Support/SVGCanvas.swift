/// A builder of SVG charts. Colours are CSS classes, so that charts suit light and dark pages.
package struct SVGCanvas {
    package enum Anchor: String { case start, middle, end }

    private let width: Double
    private let height: Double
    private var elements: [String] = []

    package init(width: Double, height: Double) { (self.width, self.height) = (width, height) }

    package mutating func text(
        _ text: String, x: Double, y: Double, anchor: Anchor = .start, style: String = "t"
    ) {
        elements.append(
            "<text class='\(style)' x='\(x.fixed(1))' y='\(y.fixed(1))' text-anchor='\(anchor)'>"
                + "\(Self.escaped(text))</text>")
    }

    package mutating func line(
        _ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, style: String
    ) {
        elements.append(
            "<line class='\(style)' x1='\(x1.fixed(1))' y1='\(y1.fixed(1))' x2='\(x2.fixed(1))' "
                + "y2='\(y2.fixed(1))'/>")
    }

    package mutating func bar(
        x: Double, y: Double, width: Double, height: Double, style: String
    ) {
        elements.append(
            "<rect class='\(style)' x='\(x.fixed(1))' y='\(y.fixed(1))' width='\(width.fixed(1))' "
                + "height='\(height.fixed(1))' rx='2'/>")
    }

    package mutating func path(_ points: [(x: Double, y: Double)], style: String) {
        elements.append("<polyline class='\(style)' points='\(Self.list(points))'/>")
    }

    package mutating func circle(x: Double, y: Double, style: String) {
        elements.append("<circle class='\(style)' cx='\(x.fixed(1))' cy='\(y.fixed(1))' r='3'/>")
    }

    /// Adds a triangle that points down to a position.
    package mutating func mark(x: Double, y: Double, style: String) {
        let points = Self.list([(x, y), (x - 4, y - 7), (x + 4, y - 7)])
        elements.append("<polygon class='\(style)' points='\(points)'/>")
    }

    /// Returns the document. Screen readers read `title`. `light` and `dark` are further CSS rules.
    package func svg(title: String, light: String, dark: String) -> String {
        let light = """
            text{font:13px system-ui,sans-serif;fill:#1f2328}.h{font-weight:600;font-size:15px}\
            .n{font-size:12px;fill:#59636e}.g{stroke:#d1d9e0}\(light)
            """
        let dark = "text{fill:#f0f6fc}.n{fill:#9198a1}.g{stroke:#3d444d}\(dark)"
        return """
            <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(width.fixed(0)) \
            \(height.fixed(0))' width='\(width.fixed(0))' role='img'>
            <title>\(Self.escaped(title))</title>
            <style>\(light)
            @media (prefers-color-scheme:dark){\(dark)}</style>
            \(elements.joined(separator: "\n"))
            </svg>

            """
    }

    private static func list(_ points: [(x: Double, y: Double)]) -> String {
        points.map { "\($0.x.fixed(1)),\($0.y.fixed(1))" }.joined(separator: " ")
    }

    private static func escaped(_ text: String) -> String {
        text.unicodeScalars.reduce(into: "") { result, scalar in
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
    }
}

extension Double {
    /// Formats the number with `digits` decimals.
    package func fixed(_ digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { scale, _ in scale * 10 }
        let whole = Int((abs(self) * scale).rounded())
        var text = String(whole)
        text = String(repeating: "0", count: max(0, digits + 1 - text.count)) + text
        if digits > 0 { text.insert(".", at: text.index(text.endIndex, offsetBy: -digits)) }
        return (self < 0 && whole != 0 ? "-" : "") + text
    }
}
