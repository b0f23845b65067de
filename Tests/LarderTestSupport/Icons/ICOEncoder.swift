/// An encoder for Windows icons with two pictures: a bitmap with a mask, and a PNG.
enum ICOEncoder {
    static func encode(bitmap: Picture, png: [UInt8], pngSize: Int) -> [UInt8] {
        let dib = dib(bitmap)
        let start = 6 + 2 * 16
        return [0, 0, 1, 0, 2, 0]
            + entry(size: bitmap.size, length: dib.count, offset: start)
            + entry(size: pngSize, length: png.count, offset: start + dib.count)
            + dib + png
    }

    private static func entry(size: Int, length: Int, offset: Int) -> [UInt8] {
        // A side of 256 pixels is written as 0.
        let side = UInt8(truncatingIfNeeded: size)
        return [side, side, 0, 0, 1, 0, 32, 0] + UInt32(length).littleEndianBytes
            + UInt32(offset).littleEndianBytes
    }

    private static func dib(_ picture: Picture) -> [UInt8] {
        let size = picture.size
        var pixels: [UInt8] = []
        for y in (0..<size).reversed() {
            for x in 0..<size {
                let start = (y * size + x) * 4
                let channels = picture.pixels[start..<start + 4]
                pixels += [2, 1, 0, 3].map { channels[start + $0] }
            }
        }
        let mask = [UInt8](repeating: 0, count: (size + 31) / 32 * 4 * size)
        // The header counts the rows of the picture and of its mask.
        return BMPEncoder.header(
            width: size, height: size * 2, bitsPerPixel: 32, length: pixels.count + mask.count)
            + pixels + mask
    }
}
