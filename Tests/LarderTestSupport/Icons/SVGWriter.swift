/// An encoder that writes an icon's shapes as SVG elements.
enum SVGWriter {
    static func document(_ icon: Icon, size: Int) -> String {
        let elements = [
            element(Icon.outline, fill: icon.tile),
            "<clipPath id=\"tile\">\(element(Icon.outline, fill: icon.tile))</clipPath>",
            "<polygon clip-path=\"url(#tile)\" points=\"64,0 64,64 0,64\""
                + " fill=\"\(icon.shade.hex)\"/>",
        ]
        let glyph = icon.shapes.map { element($0.shape, fill: $0.colour) }
        let note = icon.note.isEmpty ? "" : "  <desc>\(icon.note)</desc>\n"
        return """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(size)" height="\(size)" \
            viewBox="0 0 64 64">
            \(note)\((elements + glyph).map { "  \($0)\n" }.joined())</svg>

            """
    }

    private static func element(_ shape: Glyph.Shape, fill: Colour) -> String {
        let fill = "fill=\"\(fill.hex)\""
        switch shape {
        case .disc(let x, let y, let radius):
            return "<circle cx=\"\(text(x))\" cy=\"\(text(y))\" r=\"\(text(radius))\" \(fill)/>"
        case .box(let x, let y, let width, let height, let radius):
            return "<rect x=\"\(text(x))\" y=\"\(text(y))\" width=\"\(text(width))\""
                + " height=\"\(text(height))\" rx=\"\(text(radius))\" \(fill)/>"
        case .polygon(let points):
            let corners = points.map { "\(text($0.x)),\(text($0.y))" }.joined(separator: " ")
            return "<polygon points=\"\(corners)\" \(fill)/>"
        }
    }

    private static func text(_ number: Double) -> String {
        number == number.rounded() ? "\(Int(number))" : "\(number)"
    }
}
