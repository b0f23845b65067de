/// Windows and OS/2 bitmaps (Microsoft, "Bitmap Storage").
enum BMPStructure {
    /// Whether the bytes have a known header length. Text can begin with "BM", too.
    static func recognises(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: "BM".utf8) && bytes.count >= 18
            && headerLengths.contains(
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 14, as: UInt32.self))))
    }

    /// Checks the headers, and that the pixels are inside the file. Ignores bytes after the pixels,
    /// and the file length in the header, which many writers get wrong and no decoder uses.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .bmp)
        try reader.skip(10)
        let pixelOffset = try reader.little(4)
        let bitmap = try Bitmap(&reader)
        guard pixelOffset >= reader.offset
        else { throw reader.damaged("has a pixel offset inside its header") }
        guard pixelOffset <= bytes.count else { throw .truncated(.bmp, "ends before its pixels") }
        try reader.skip(pixelOffset - reader.offset)
        reader.place = "its pixels"
        if bitmap.isRunLengthEncoded {
            try skipRuns(&reader, isFourBit: bitmap.bitsPerPixel == 4)
        } else {
            try reader.skip(bitmap.pixelLength)
        }
        return ImageInfo(mediaType: .bmp, width: bitmap.width, height: bitmap.height)
    }

    private static let headerLengths = [12, 16, 40, 52, 56, 64, 108, 124]

    /// The valid widths and heights. Larger ones do not occur, and could overflow the pixel length.
    private static let sizes = 1...0xFFF_FFFF

    /// The information header of a bitmap. ICO files contain it too.
    struct Bitmap {
        let width: Int
        let height: Int
        let bitsPerPixel: Int
        let isRunLengthEncoded: Bool
        let headerLength: Int
        let colours: Int

        /// The length of the uncompressed pixels in bytes. Rows are padded to four bytes.
        var pixelLength: Int { (width * bitsPerPixel + 31) / 32 * 4 * height }

        init(_ reader: inout ByteReader) throws(ImageError) {
            let length = try reader.little(4)
            guard headerLengths.contains(length)
            else { throw reader.damaged("has an unknown header of \(length) bytes") }
            var header = try reader.part(length - 4, "the bitmap header")
            let isCore = length == 12
            width = try header.little(isCore ? 2 : 4)
            // The height is negative if rows run from top to bottom.
            let signedHeight = Int(Int32(truncatingIfNeeded: try header.little(isCore ? 2 : 4)))
            height = abs(signedHeight)
            let planes = try header.little(2)
            bitsPerPixel = try header.little(2)
            guard sizes.contains(width), sizes.contains(height), planes <= 1,
                [1, 2, 4, 8, 16, 24, 32].contains(bitsPerPixel)
            else {
                throw header.damaged(
                    "has an invalid size, \(width) × \(height) with \(bitsPerPixel) bits")
            }
            let method = length > 16 ? try header.little(4) : 0
            switch (method, bitsPerPixel) {
            case (0, _), (3, 16), (3, 32), (6, 16), (6, 32): isRunLengthEncoded = false
            case (1, 8), (2, 4): isRunLengthEncoded = true
            default:
                throw header.damaged(
                    "has an unknown compression (\(method) with \(bitsPerPixel) bits)")
            }
            var declaredColours = 0
            if length >= 40 {
                try header.skip(12)
                declaredColours = try header.little(4)
            }
            let most = bitsPerPixel <= 8 ? 1 << bitsPerPixel : 0
            colours = declaredColours == 0 ? most : min(declaredColours, max(most, 256))
            // Colour masks follow a 40-byte header, and are part of longer headers.
            headerLength = length + (length > 40 ? 0 : method == 3 ? 12 : method == 6 ? 16 : 0)
        }
    }

    private static func skipRuns(_ reader: inout ByteReader, isFourBit: Bool) throws(ImageError) {
        while true {
            let (count, value) = (try reader.big(1), try reader.big(1))
            switch (count, value) {
            case (0, 1): return
            case (0, 2): try reader.skip(2)
            case (0, 3...):
                let length = isFourBit ? (value + 1) / 2 : value
                try reader.skip(length + length % 2)
            default: continue
            }
        }
    }
}
