/// An encoder for GIF 89a: one picture with up to 255 colours and transparency, LZW-coded.
enum GIFEncoder {
    static func encode(_ picture: Picture, note: String) -> [UInt8] {
        let (palette, indices) = quantise(picture)
        let size = UInt16(picture.size).littleEndianBytes
        var file = Array("GIF89a".utf8) + size + size + [0xF7, 0, 0]
        for colour in palette { file += [colour.red, colour.green, colour.blue] }
        file += [UInt8](repeating: 0, count: 3 * (256 - palette.count))
        file += [0x21, 0xF9, 4, 1, 0, 0, 0, 0]
        if !note.isEmpty { file += [0x21, 0xFE] + subBlocks(Array(note.utf8)) }
        file += [0x2C, 0, 0, 0, 0] + size + size + [0, 8]
        return file + subBlocks(compress(indices)) + [0x3B]
    }

    /// Maps the pixels to a palette. Colour 0 is transparent. Colours after the 255th are replaced
    /// by the nearest colour of the palette.
    private static func quantise(_ picture: Picture) -> (palette: [Colour], indices: [UInt8]) {
        var palette = [Colour(red: 0, green: 0, blue: 0)]
        var known: [Colour: UInt8] = [:]
        var indices: [UInt8] = []
        for start in stride(from: 0, to: picture.pixels.count, by: 4) {
            guard picture.pixels[start + 3] >= 128 else {
                indices.append(0)
                continue
            }
            let colour = Colour(
                red: picture.pixels[start], green: picture.pixels[start + 1],
                blue: picture.pixels[start + 2])
            if known[colour] == nil {
                if palette.count < 256 {
                    known[colour] = UInt8(palette.count)
                    palette.append(colour)
                } else {
                    known[colour] = nearest(colour, in: palette)
                }
            }
            indices.append(known[colour] ?? 0)
        }
        return (palette, indices)
    }

    private static func nearest(_ colour: Colour, in palette: [Colour]) -> UInt8 {
        func distance(_ index: Int) -> Int {
            let other = palette[index]
            return [\Colour.red, \.green, \.blue].reduce(0) { sum, channel in
                sum + abs(Int(other[keyPath: channel]) - Int(colour[keyPath: channel]))
            }
        }
        return UInt8((1..<palette.count).min { distance($0) < distance($1) } ?? 0)
    }

    private static func compress(_ indices: [UInt8]) -> [UInt8] {
        var bits = BitWriter()
        var codes: [Int: Int] = [:]
        var width = 9
        bits.write(256, width)
        var prefix = Int(indices[0])
        for index in indices.dropFirst() {
            let key = prefix << 8 | Int(index)
            if let code = codes[key] {
                prefix = code
                continue
            }
            bits.write(prefix, width)
            let next = 258 + codes.count
            if next < 4096 {
                codes[key] = next
                if next == 1 << width { width += 1 }
            } else {
                bits.write(256, width)
                codes = [:]
                width = 9
            }
            prefix = Int(index)
        }
        bits.write(prefix, width)
        bits.write(257, width)
        return bits.finished()
    }

    private static func subBlocks(_ bytes: [UInt8]) -> [UInt8] {
        var blocks: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 255) {
            let block = bytes[start..<min(start + 255, bytes.count)]
            blocks.append(UInt8(block.count))
            blocks += block
        }
        return blocks + [0]
    }
}
