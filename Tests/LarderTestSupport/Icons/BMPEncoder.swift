/// An encoder for Windows bitmaps with 24 bits per pixel.
enum BMPEncoder {
    static func encode(_ picture: Picture, note: String) -> [UInt8] {
        let size = picture.size
        let padding = [UInt8](repeating: 0, count: (4 - size * 3 % 4) % 4)
        // Decoders ignore the bytes between the header and the pixels.
        let gap = Array(note.utf8)
        var pixels: [UInt8] = []
        for y in (0..<size).reversed() {
            for x in 0..<size {
                let colour = picture.opaque(x, y)
                pixels += [colour.blue, colour.green, colour.red]
            }
            pixels += padding
        }
        let start = 14 + 40 + gap.count
        return Array("BM".utf8) + UInt32(start + pixels.count).littleEndianBytes + [0, 0, 0, 0]
            + UInt32(start).littleEndianBytes
            + header(width: size, height: size, bitsPerPixel: 24, length: pixels.count)
            + gap + pixels
    }

    /// Returns a BITMAPINFOHEADER.
    static func header(width: Int, height: Int, bitsPerPixel: UInt16, length: Int) -> [UInt8] {
        UInt32(40).littleEndianBytes + Int32(width).littleEndianBytes
            + Int32(height).littleEndianBytes + UInt16(1).littleEndianBytes
            + bitsPerPixel.littleEndianBytes + UInt32(0).littleEndianBytes
            + UInt32(length).littleEndianBytes + [UInt8](repeating: 0, count: 16)
    }
}
