import Synchronization

/// An encoder for PNG with eight bits per channel, alpha and no filter.
enum PNGEncoder {
    static func encode(_ icon: Icon, size: Int) -> [UInt8] {
        let side = UInt32(size).bigEndianBytes
        var file: [UInt8] = [0x89] + Array("PNG\r\n".utf8) + [0x1A, 0x0A]
        file += chunk("IHDR", side + side + [8, 6, 0, 0, 0])
        if !icon.note.isEmpty { file += chunk("tEXt", Array("Comment\0\(icon.note)".utf8)) }
        return file + pixels(icon, size: size) + chunk("IEND", [])
    }

    private struct Key: Hashable {
        let glyph: Glyph
        let hue: Int
        let size: Int
    }

    /// Encoded pixels by picture. Tests use thousands of icons that differ only in their notes.
    private static let cache = Mutex<[Key: [UInt8]]>([:])

    /// Returns the IDAT chunk.
    private static func pixels(_ icon: Icon, size: Int) -> [UInt8] {
        let key = Key(glyph: icon.glyph, hue: icon.hue, size: size)
        if let known = cache.withLock({ $0[key] }) { return known }
        let picture = Picture(icon, size: size)
        var rows: [UInt8] = []
        rows.reserveCapacity(picture.pixels.count + size)
        for row in 0..<size {
            rows.append(0)
            rows += picture.pixels[row * size * 4..<(row + 1) * size * 4]
        }
        let pixels = chunk("IDAT", Deflate.zlibStream(rows))
        cache.withLock { $0[key] = pixels }
        return pixels
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let covered = Array(type.utf8) + content
        return UInt32(content.count).bigEndianBytes + covered + crc(covered).bigEndianBytes
    }

    /// Computes the CRC-32 bit by bit.
    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        var crc = ~UInt32(0)
        for byte in bytes {
            crc ^= UInt32(byte)
            for _ in 0..<8 { crc = crc & 1 == 1 ? crc >> 1 ^ 0xEDB8_8320 : crc >> 1 }
        }
        return ~crc
    }
}
