/// GIF 87a and 89a (CompuServe's specification).
enum GIFStructure {
    /// Walks the blocks. Ignores bytes after the trailer and zeros before it, as all decoders do.
    /// The trailer may be missing after a complete image, unless an extension announces another
    /// image. Zeros without a trailer mean that the file's end was never written. If the logical
    /// screen has no size, the first image's size is used, as in browsers.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .gif)
        let version = try reader.take(6)
        guard version.elementsEqual("GIF87a".utf8) || version.elementsEqual("GIF89a".utf8)
        else { throw reader.damaged("has an unknown version") }
        var (width, height) = (try reader.little(2), try reader.little(2))
        let flags = try reader.big(1)
        try reader.skip(2)
        try skipColourTable(&reader, flags)
        var images = 0
        var mayEnd = false
        while true {
            if reader.remaining == 0, !mayEnd { throw .truncated(.gif, "ends before its trailer") }
            switch reader.remaining == 0 ? 0x3B : try reader.big(1) {
            case 0x00:
                reader.skip { $0 == 0 }
                mayEnd = false
            case 0x2C:
                reader.place = "an image header"
                try reader.skip(4)
                let (imageWidth, imageHeight) = (try reader.little(2), try reader.little(2))
                if images == 0, width == 0 || height == 0 {
                    (width, height) = (imageWidth, imageHeight)
                }
                try skipColourTable(&reader, try reader.big(1))
                guard (1...11).contains(try reader.big(1))
                else { throw reader.damaged("has an invalid code size") }
                reader.place = "an image"
                guard try skipSubBlocks(&reader) > 0
                else { throw reader.damaged("has an empty image") }
                images += 1
                mayEnd = true
            case 0x21:
                reader.place = "an extension"
                // A graphic control extension announces an image.
                if try reader.big(1) == 0xF9 { mayEnd = false }
                _ = try skipSubBlocks(&reader)
            case 0x3B:
                guard images > 0 else { throw reader.damaged("has no image") }
                try reader.checkSize(width, height)
                return ImageInfo(
                    mediaType: .gif, width: width, height: height, isAnimated: images > 1)
            case let other:
                throw reader.damaged("has an unknown block, 0x\(String(other, radix: 16))")
            }
        }
    }

    private static func skipColourTable(
        _ reader: inout ByteReader, _ flags: Int
    ) throws(ImageError) {
        guard flags & 0x80 != 0 else { return }
        reader.place = "a colour table"
        try reader.skip(3 << (flags & 7 + 1))
    }

    private static func skipSubBlocks(_ reader: inout ByteReader) throws(ImageError) -> Int {
        var total = 0
        while true {
            let length = try reader.big(1)
            if length == 0 { return total }
            try reader.skip(length)
            total += length
        }
    }
}
