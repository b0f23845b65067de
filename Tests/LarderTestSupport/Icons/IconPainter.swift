/// A generator of small valid images without any library.
///
/// The same arguments give the same bytes on every machine, and different seeds give different
/// bytes. The encoders share no code with the inspector that they help to test.
public enum IconPainter {
    /// A PNG with an alpha channel.
    public static func png(seed: Int, size: Int = 48) -> [UInt8] {
        png(Icon(seed: seed), size: size)
    }
    /// A GIF with one picture.
    public static func gif(seed: Int, size: Int = 48) -> [UInt8] {
        gif(Icon(seed: seed), size: size)
    }
    /// A bitmap with 24 bits per pixel.
    public static func bmp(seed: Int, size: Int = 48) -> [UInt8] {
        bmp(Icon(seed: seed), size: size)
    }
    /// A bitmap of at least `bytes` bytes. Most of them are the note, because painting a large
    /// picture takes seconds.
    public static func largeBMP(seed: Int, bytes: Int) -> [UInt8] {
        var note = ""
        var number = 0
        while note.utf8.count < bytes {
            note += "\(number) "
            number += 1
        }
        let icon = Icon(seed: seed)
        return bmp(Icon(icon.glyph, hue: icon.hue, note: note + icon.note), size: 16)
    }
    /// A Windows icon with a bitmap of 16 pixels and a PNG of `size`.
    public static func ico(seed: Int, size: Int = 48) -> [UInt8] {
        ico(Icon(seed: seed), size: size)
    }
    /// A baseline JPEG.
    public static func jpeg(seed: Int, size: Int = 48) -> [UInt8] {
        jpeg(Icon(seed: seed), size: size)
    }
    /// An SVG document of the given size.
    public static func svg(seed: Int, size: Int = 48) -> [UInt8] {
        svg(Icon(seed: seed), size: size)
    }

    /// A PNG with an alpha channel.
    public static func png(_ icon: Icon, size: Int = 48) -> [UInt8] {
        PNGEncoder.encode(icon, size: size)
    }
    /// A GIF with one picture.
    public static func gif(_ icon: Icon, size: Int = 48) -> [UInt8] {
        GIFEncoder.encode(Picture(icon, size: size), note: icon.note)
    }
    /// A bitmap with 24 bits per pixel.
    public static func bmp(_ icon: Icon, size: Int = 48) -> [UInt8] {
        BMPEncoder.encode(Picture(icon, size: size), note: icon.note)
    }
    /// A Windows icon with a bitmap of 16 pixels and a PNG of `size`.
    public static func ico(_ icon: Icon, size: Int = 48) -> [UInt8] {
        ICOEncoder.encode(
            bitmap: Picture(icon, size: 16), png: png(icon, size: size), pngSize: size)
    }
    /// A baseline JPEG.
    public static func jpeg(_ icon: Icon, size: Int = 48) -> [UInt8] {
        JPEGEncoder.encode(Picture(icon, size: size), note: icon.note)
    }
    /// An SVG document of the given size.
    public static func svg(_ icon: Icon, size: Int = 48) -> [UInt8] {
        Array(SVGWriter.document(icon, size: size).utf8)
    }
}
