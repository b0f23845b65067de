/// A square of pixels with four bytes each: red, green, blue and alpha, not premultiplied.
struct Picture {
    let size: Int
    let pixels: [UInt8]

    /// Paints an icon with antialiased edges. The arithmetic gives the same result on every
    /// machine.
    init(_ icon: Icon, size: Int) {
        let scene = Scene(icon)
        let step = 64 / Double(size)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(size * size * 4)
        for row in 0..<size {
            for column in 0..<size {
                let (left, top) = (Double(column) * step, Double(row) * step)
                let (near, far) = (step * 0.125, step * 0.875)
                let corner = scene.colour(left + near, top + near)
                let isEven =
                    corner == scene.colour(left + far, top + near)
                    && corner == scene.colour(left + near, top + far)
                    && corner == scene.colour(left + far, top + far)
                if isEven {
                    pixels += [corner?.red ?? 0, corner?.green ?? 0, corner?.blue ?? 0]
                    pixels.append(corner == nil ? 0 : 255)
                } else {
                    pixels += scene.mixture(left: left, top: top, step: step)
                }
            }
        }
        self.size = size
        self.pixels = pixels
    }

    /// Returns the colour of a pixel over white.
    func opaque(_ x: Int, _ y: Int) -> Colour {
        let start = (y * size + x) * 4
        let alpha = Int(pixels[start + 3])
        func over(_ channel: Int) -> UInt8 {
            UInt8((Int(pixels[start + channel]) * alpha + 255 * (255 - alpha)) / 255)
        }
        return Colour(red: over(0), green: over(1), blue: over(2))
    }

    /// The colours of an icon by position in the glyph's units.
    private struct Scene {
        let tile: Colour
        let shade: Colour
        /// The glyph's shapes from top to bottom.
        let shapes: [(colour: Colour, shape: Glyph.Shape)]

        init(_ icon: Icon) {
            tile = icon.tile
            shade = icon.shade
            shapes = icon.shapes.reversed()
        }

        /// Returns the colour at a position; nil outside the tile.
        func colour(_ x: Double, _ y: Double) -> Colour? {
            guard Icon.outline.contains(x, y) else { return nil }
            for (colour, shape) in shapes where shape.contains(x, y) { return colour }
            return x + y > 64 ? shade : tile
        }

        /// Returns the red, green, blue and alpha of a pixel as the mean of 16 samples.
        func mixture(left: Double, top: Double, step: Double) -> [UInt8] {
            var (red, green, blue, count) = (0, 0, 0, 0)
            for place in 0..<16 {
                let x = left + (Double(place % 4) * 0.25 + 0.125) * step
                let y = top + (Double(place / 4) * 0.25 + 0.125) * step
                guard let colour = colour(x, y) else { continue }
                red += Int(colour.red)
                green += Int(colour.green)
                blue += Int(colour.blue)
                count += 1
            }
            let divisor = max(count, 1)
            return [red / divisor, green / divisor, blue / divisor, count * 255 / 16]
                .map { UInt8($0) }
        }
    }
}
