// all text: exempt from Scripts/lint, because each compared literal is a four-byte number.

/// WebP (RFC 9649): a RIFF file with one or more VP8 or VP8L images.
enum WebPStructure {
    /// Walks the chunks of the file and its animation frames. Ignores bytes after the declared
    /// length (RFC 9649 §2.4), and metadata with a wrong length after the image, as libwebp does.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .webp)
        try reader.skip(4)
        let length = try reader.little(4)
        guard length <= reader.remaining
        else { throw .truncated(.webp, "ends after \(bytes.count) of \(length + 8) bytes") }
        var file = try reader.part(length, "the RIFF file")
        try file.skip(4)
        var canvas: (width: Int, height: Int)?
        var image: (width: Int, height: Int)?
        var frames = 0
        var isFirst = true
        while image == nil && frames == 0 || !endsInMetadata(file),
            var chunk = try nextChunk(&file)
        {
            switch chunk.type {
            case "VP8X" where isFirst:
                try chunk.content.skip(4)
                canvas = (try chunk.content.little(3) + 1, try chunk.content.little(3) + 1)
            case "VP8 ", "VP8L":
                let size = try imageSize(&chunk.content, chunk.type)
                image = image ?? size
            case "ANMF":
                try inspectFrame(&chunk.content)
                frames += 1
            case _ where isFirst:
                throw file.damaged("begins with an unexpected chunk \(chunk.type)")
            default: break
            }
            isFirst = false
        }
        guard image != nil || frames > 0 else { throw file.damaged("has no image") }
        if let canvas, let image, canvas != image {
            throw file.damaged("has an image whose size differs from its canvas")
        }
        let size = canvas ?? image
        return ImageInfo(
            mediaType: .webp, width: size?.width, height: size?.height, isAnimated: frames > 1)
    }

    /// Whether the remaining bytes are a truncated chunk without image data.
    private static func endsInMetadata(_ file: ByteReader) -> Bool {
        var rest = file
        guard let type = try? rest.fourCC(), let length = try? rest.little(4)
        else { return file.remaining > 0 }
        return length > rest.remaining && !["VP8 ", "VP8L", "ALPH", "ANMF"].contains(type)
    }

    private static func nextChunk(
        _ reader: inout ByteReader
    ) throws(ImageError) -> (type: FourCC, content: ByteReader)? {
        guard reader.remaining > 0 else { return nil }
        let type = try reader.fourCC()
        let length = try reader.little(4)
        let content = try reader.part(length, "a chunk")
        // Chunks are padded to an even length. Some writers omit the last padding.
        if length % 2 == 1, reader.remaining > 0 { try reader.skip(1) }
        return (type, content)
    }

    /// Checks a frame: 16 bytes of position and timing, then the chunks of an image.
    private static func inspectFrame(_ frame: inout ByteReader) throws(ImageError) {
        try frame.skip(16)
        while var chunk = try nextChunk(&frame) {
            if chunk.type == "VP8 " || chunk.type == "VP8L" {
                _ = try imageSize(&chunk.content, chunk.type)
                return
            }
        }
        throw frame.damaged("has an animation frame without an image")
    }

    private static func imageSize(
        _ content: inout ByteReader, _ type: FourCC
    ) throws(ImageError) -> (width: Int, height: Int) {
        if type == "VP8L" {
            // RFC 9649 §3.4: a signature, 14 bits of width - 1, 14 of height - 1, alpha, version.
            guard try content.big(1) == 0x2F
            else { throw content.damaged("has a wrong lossless signature") }
            let bits = try content.little(4)
            guard bits >> 29 == 0 else { throw content.damaged("has an unknown lossless version") }
            return (bits & 0x3FFF + 1, bits >> 14 & 0x3FFF + 1)
        }
        // RFC 6386 §9.1: a tag with the length of the first partition, a start code, the size.
        let tag = try content.little(3)
        guard tag & 1 == 0, try content.big(3) == 0x9D012A
        else { throw content.damaged("has no key frame") }
        let (width, height) = (try content.little(2) & 0x3FFF, try content.little(2) & 0x3FFF)
        try content.checkSize(width, height)
        guard tag >> 5 <= content.remaining else { throw content.damaged("has a truncated image") }
        return (width, height)
    }
}
