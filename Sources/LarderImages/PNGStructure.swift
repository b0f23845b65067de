// all text: exempt from Scripts/lint, because each compared literal is a four-byte number.

/// PNG and APNG (W3C Portable Network Graphics Specification, Third Edition).
enum PNGStructure {
    static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]

    /// Walks the chunks to IEND, and checks the CRC of each chunk of the image. Ignores a wrong CRC
    /// of an ancillary chunk, as libpng does by default, and bytes after IEND, as all decoders do.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .png)
        reader.place = "the signature"
        guard try reader.take(signature.count).elementsEqual(signature) else {
            throw reader.damaged(
                "has a damaged signature, for example after a conversion of line endings")
        }
        var chunk = try nextChunk(&reader)
        // The variant that Xcode writes into app bundles begins with a private chunk.
        if chunk.type == "CgBI" { chunk = try nextChunk(&reader) }
        guard chunk.type == "IHDR"
        else { throw reader.damaged("begins with \(chunk.type) instead of IHDR") }
        let header = try header(&chunk.content)
        var hasPalette = false
        var dataLength = 0
        var previous = chunk.type
        var isAnimated = false
        while true {
            var chunk = try nextChunk(&reader)
            switch chunk.type {
            case "IDAT":
                guard dataLength == 0 || previous == "IDAT"
                else { throw reader.damaged("has IDAT chunks that are not consecutive") }
                guard hasPalette || !header.needsPalette
                else { throw reader.damaged("has no palette before its pixels") }
                dataLength += chunk.content.remaining
            case "PLTE":
                let length = chunk.content.remaining
                guard !hasPalette, length > 0, length <= 3 * 256, length % 3 == 0
                else { throw reader.damaged("has a duplicate or invalid palette") }
                hasPalette = true
            case "IEND":
                guard dataLength > 0 else { throw reader.damaged("has no pixels (no IDAT)") }
                return ImageInfo(
                    mediaType: .png, width: header.width, height: header.height,
                    isAnimated: isAnimated)
            case "acTL":
                isAnimated = ((try? chunk.content.big(4)) ?? 0) > 1
            default:
                guard chunk.type.value & ancillaryBit != 0
                else { throw reader.damaged("has an unexpected critical chunk \(chunk.type)") }
            }
            previous = chunk.type
        }
    }

    private static let depths: [Int: [Int]] = [
        0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
    ]

    private static func header(
        _ content: inout ByteReader
    ) throws(ImageError) -> (width: Int, height: Int, needsPalette: Bool) {
        guard content.remaining == 13
        else { throw content.damaged("has an IHDR of \(content.remaining) bytes") }
        let (width, height) = (try content.big(4), try content.big(4))
        let (depth, colourType) = (try content.big(1), try content.big(1))
        let (compression, filter) = (try content.big(1), try content.big(1))
        let interlace = try content.big(1)
        try content.checkSize(width, height, atMost: 0x7FFF_FFFF)
        guard depths[colourType]?.contains(depth) == true
        else { throw content.damaged("has colour type \(colourType) with bit depth \(depth)") }
        guard compression == 0, filter == 0, interlace <= 1
        else { throw content.damaged("has an unknown compression, filter or interlace method") }
        return (width, height, colourType == 3)
    }

    private static func nextChunk(
        _ reader: inout ByteReader
    ) throws(ImageError) -> (type: FourCC, content: ByteReader) {
        guard reader.remaining > 0 else { throw .truncated(.png, "ends before IEND") }
        reader.place = "a chunk's header"
        let length = try reader.big(4)
        let start = reader.offset
        let type = try reader.fourCC()
        guard type.isFourLetters, length <= 0x7FFF_FFFF
        else { throw reader.damaged("has an invalid chunk \(type) of \(length) bytes") }
        guard length <= reader.remaining - 4
        else { throw .truncated(.png, "ends inside chunk \(type)") }
        let content = try reader.part(length, "a chunk")
        let covered = UnsafeRawBufferPointer(rebasing: reader.bytes[start..<reader.offset])
        guard try reader.big(4) == Int(CRC32.checksum(of: covered)) || isExpendable(type)
        else { throw reader.damaged("has a wrong checksum in chunk \(type)") }
        return (type, content)
    }

    /// Whether the image is complete without chunks of this type. Animation frames are required,
    /// although ancillary. A critical type is required even if a bit flip changed its case.
    private static func isExpendable(_ type: FourCC) -> Bool {
        type.value & ancillaryBit != 0 && !["acTL", "fcTL", "fdAT"].contains(type)
            && !["IHDR", "PLTE", "IDAT", "IEND"].contains(FourCC(value: type.value & ~letterCase))
    }

    /// The case bit of the first letter, set if decoders may skip the chunk.
    private static let ancillaryBit: UInt32 = 0x2000_0000
    private static let letterCase: UInt32 = 0x2020_2020
}
