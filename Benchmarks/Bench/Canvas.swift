/// A builder of SVG charts. Colours are CSS classes, so that charts suit light and dark pages.
struct Canvas {
    let width: Double
    let height: Double
    private var elements: [String] = []

    init(width: Double, height: Double) { (self.width, self.height) = (width, height) }

    enum Anchor: String { case start, middle, end }

    mutating func text(
        _ text: String, x: Double, y: Double, anchor: Anchor = .start, style: String = "t"
    ) {
        elements.append(
            "<text class='\(style)' x='\(x.fixed(1))' y='\(y.fixed(1))' text-anchor='\(anchor)'>"
                + "\(text.markedUp)</text>")
    }

    mutating func line(_ x1: Double, _ y1: Double, _ x2: Double, _ y2: Double, style: String) {
        elements.append(
            "<line class='\(style)' x1='\(x1.fixed(1))' y1='\(y1.fixed(1))' x2='\(x2.fixed(1))' "
                + "y2='\(y2.fixed(1))'/>")
    }

    mutating func bar(x: Double, y: Double, width: Double, height: Double, style: String) {
        elements.append(
            "<rect class='\(style)' x='\(x.fixed(1))' y='\(y.fixed(1))' width='\(width.fixed(1))' "
                + "height='\(height.fixed(1))' rx='2'/>")
    }

    mutating func path(_ points: [(x: Double, y: Double)], style: String) {
        let list = points.map { "\($0.x.fixed(1)),\($0.y.fixed(1))" }.joined(separator: " ")
        elements.append("<polyline class='\(style) path' points='\(list)'/>")
        for point in points {
            elements.append(
                "<circle class='\(style)' cx='\(point.x.fixed(1))' cy='\(point.y.fixed(1))' r='3'/>"
            )
        }
    }

    /// Returns the document. Screen readers read `title`.
    func svg(title: String) -> String {
        let style = """
            text{font:13px system-ui,sans-serif;fill:#1f2328}.h{font-weight:600;font-size:15px}\
            .n{font-size:12px;fill:#59636e}.g{stroke:#d1d9e0}.w{stroke:#1f2328;stroke-width:1.5}\
            .c0{fill:#0969da;stroke:#0969da}.c1{fill:#9a6700;stroke:#9a6700}\
            .c2{fill:#1a7f37;stroke:#1a7f37}.c3{fill:#8250df;stroke:#8250df}\
            .c4{fill:#8c959f;stroke:#8c959f}rect{stroke-width:0}.path{fill:none;stroke-width:2}
            """
        let dark = """
            text{fill:#f0f6fc}.n{fill:#9198a1}.g{stroke:#3d444d}.w{stroke:#f0f6fc}\
            .c0{fill:#4493f8;stroke:#4493f8}.c1{fill:#d29922;stroke:#d29922}\
            .c2{fill:#3fb950;stroke:#3fb950}.c3{fill:#ab7df8;stroke:#ab7df8}\
            .c4{fill:#656c76;stroke:#656c76}.path{fill:none}
            """
        let size = "\(width.fixed(0)) \(height.fixed(0))"
        return """
            <svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 \(size)' \
            width='\(width.fixed(0))' role='img'>
            <title>\(title.markedUp)</title>
            <style>\(style)
            @media (prefers-color-scheme:dark){\(dark)}</style>
            \(elements.joined(separator: "\n"))
            </svg>
            """
    }
}

extension String {
    fileprivate var markedUp: String {
        reduce(into: "") { text, character in
            switch character {
            case "&": text += "&amp;"
            case "<": text += "&lt;"
            case "'": text += "&#39;"
            default: text.append(character)
            }
        }
    }
}
