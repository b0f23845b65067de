/// An icon to paint: a glyph on a coloured tile, and a note that is kept in the file.
public struct Icon: Sendable {
    /// The picture on the tile.
    public let glyph: Glyph
    /// The tile's colour in degrees, 0..<360.
    public let hue: Int
    /// Text for the file's comment, in ASCII; two icons with different notes have different bytes.
    public let note: String

    /// An icon made to measure.
    public init(_ glyph: Glyph, hue: Int, note: String = "") {
        self.glyph = glyph
        self.hue = hue
        self.note = note
    }

    /// One of as many icons as there are seeds, each with bytes of its own in every format.
    public init(seed: Int) {
        let bits = UInt(bitPattern: seed)
        glyph = Glyph.allCases[Int(bits % UInt(Glyph.allCases.count))]
        // Neighbours differ much, and there are only so many pictures to paint.
        hue = Int(bits % 24 * 7 % 24) * 15
        note = "icon \(seed)"
    }

    static let outline = Glyph.Shape.box(x: 2, y: 2, width: 60, height: 60, radius: 14)

    var tile: Colour { Colour(hue: hue, brightness: 215) }
    var shade: Colour { Colour(hue: hue, brightness: 195) }
    var deep: Colour { Colour(hue: hue, brightness: 120) }

    /// The glyph's shapes with their colours, bottom first.
    var shapes: [(colour: Colour, shape: Glyph.Shape)] {
        glyph.layers.map { paint, shape in
            switch paint {
            case .ink: (.ink, shape)
            case .deep: (deep, shape)
            case .accent: (.accent, shape)
            }
        }
    }
}
