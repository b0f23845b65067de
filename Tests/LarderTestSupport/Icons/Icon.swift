/// The description of an icon: a glyph on a coloured tile, and a note to store in the file.
public struct Icon: Sendable {
    /// The picture on the tile.
    public let glyph: Glyph
    /// The hue of the tile in degrees, 0..<360.
    public let hue: Int
    /// The file's comment in ASCII. Icons with different notes have different bytes.
    public let note: String

    /// Creates an icon.
    public init(_ glyph: Glyph, hue: Int, note: String = "") {
        self.glyph = glyph
        self.hue = hue
        self.note = note
    }

    /// Creates the icon of a seed. Each seed gives different bytes in every format.
    public init(seed: Int) {
        let bits = UInt(bitPattern: seed)
        glyph = Glyph.allCases[Int(bits % UInt(Glyph.allCases.count))]
        // Few distinct pictures, so that PNGs can be cached, with clear differences between
        // neighbours.
        hue = Int(bits % 24 * 7 % 24) * 15
        note = "icon \(seed)"
    }

    static let outline = Glyph.Shape.box(x: 2, y: 2, width: 60, height: 60, radius: 14)

    var tile: Colour { Colour(hue: hue, brightness: 215) }
    var shade: Colour { Colour(hue: hue, brightness: 195) }
    var deep: Colour { Colour(hue: hue, brightness: 120) }

    /// The glyph's shapes with their colours, from bottom to top.
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
