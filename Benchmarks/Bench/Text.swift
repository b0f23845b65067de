import BenchmarkSupport

// This program does not use Foundation, because its own memory is the minimum that it measures.

extension SVGCanvas {
    func svg(title: String) -> String {
        svg(
            title: title,
            light: """
                .w{stroke:#1f2328;stroke-width:1.5}.c0{fill:#0969da;stroke:#0969da}\
                .c1{fill:#9a6700;stroke:#9a6700}.c2{fill:#1a7f37;stroke:#1a7f37}\
                .c3{fill:#8250df;stroke:#8250df}.c4{fill:#8c959f;stroke:#8c959f}\
                rect{stroke-width:0}.path{fill:none;stroke-width:2}
                """,
            dark: """
                .w{stroke:#f0f6fc}.c0{fill:#4493f8;stroke:#4493f8}.c1{fill:#d29922;stroke:#d29922}\
                .c2{fill:#3fb950;stroke:#3fb950}.c3{fill:#ab7df8;stroke:#ab7df8}\
                .c4{fill:#656c76;stroke:#656c76}.path{fill:none}
                """)
    }
}

extension Int {
    var grouped: String {
        var text = String(self)
        var place = text.count - 3
        while place > 0 {
            text.insert(",", at: text.index(text.startIndex, offsetBy: place))
            place -= 3
        }
        return text
    }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }

    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
