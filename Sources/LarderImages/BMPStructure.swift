extension MediaType {
    package static let bmp = MediaType("image/bmp", name: "BMP")
}

extension ImageFormat {
    static let bmp = ImageFormat(
        .bmp, suffixes: ["bmp"], inspect: BMPStructure.inspect, BMPStructure.recognises)
}

/// Windows and OS/2 bitmaps (Microsoft, "Bitmap Storage").
enum BMPStructure {
    /// A text may begin with "BM", too, but not have a header of a known length.
    static func recognises(_ bytes: UnsafeRawBufferPointer) -> Bool {
        bytes.starts(with: "BM".utf8) && bytes.count >= 18
            && headerLengths.contains(
                Int(UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: 14, as: UInt32.self))))
    }

    /// Checks the headers, and that the pixels are inside the file. The file length in the header
    /// is not compared: many writers get it wrong, and no decoder looks at it. Bytes after the
    /// pixels, such as colour profiles, are ignored.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .bmp)
        try reader.skip(10)
        let pixelOffset = try reader.little(4)
        let bitmap = try Bitmap(&reader)
        guard pixelOffset >= reader.offset else {
            throw reader.damaged("has its pixels inside its header")
        }
        guard pixelOffset <= bytes.count else { throw .truncated(.bmp, "ends before its pixels") }
        try reader.skip(pixelOffset - reader.offset)
        reader.place = "its pixels"
        switch bitmap.compression {
        case .none: try reader.skip(bitmap.pixelLength)
        case .runLength(let isFourBit): try skipRuns(&reader, isFourBit: isFourBit)
        }
        return ImageInfo(mediaType: .bmp, width: bitmap.width, height: bitmap.height)
    }

    private static let headerLengths = [12, 16, 40, 52, 56, 64, 108, 124]

    /// More than any real bitmap has, and the length of the pixels cannot overflow.
    private static let sizes = 1...0xFFF_FFFF

    enum Compression: Equatable {
        case none
        case runLength(isFourBit: Bool)
    }

    /// What a bitmap's information header says; ICO files hold the same header.
    struct Bitmap {
        let width: Int
        let height: Int
        let bitsPerPixel: Int
        let compression: Compression
        /// The length of the header with its colour masks, which the colour table follows.
        let headerLength: Int
        let colours: Int

        /// The length of uncompressed pixels: rows are padded to four bytes.
        var pixelLength: Int { (width * bitsPerPixel + 31) / 32 * 4 * height }

        init(_ reader: inout ByteReader) throws(ImageError) {
            let length = try reader.little(4)
            guard headerLengths.contains(length) else {
                throw reader.damaged("has an unknown header of \(length) bytes")
            }
            var header = try reader.part(length - 4, "the bitmap header")
            let isCore = length == 12
            width = try header.little(isCore ? 2 : 4)
            // A negative height means that rows run from the top.
            let signedHeight = Int(Int32(truncatingIfNeeded: try header.little(isCore ? 2 : 4)))
            height = abs(signedHeight)
            let planes = try header.little(2)
            bitsPerPixel = try header.little(2)
            guard sizes.contains(width), sizes.contains(height), planes <= 1,
                [1, 2, 4, 8, 16, 24, 32].contains(bitsPerPixel)
            else {
                throw header.damaged(
                    "has an impossible size, \(width) × \(height) with \(bitsPerPixel) bits")
            }
            let method = length > 16 ? try header.little(4) : 0
            switch (method, bitsPerPixel) {
            case (0, _), (3, 16), (3, 32), (6, 16), (6, 32): compression = .none
            case (1, 8): compression = .runLength(isFourBit: false)
            case (2, 4): compression = .runLength(isFourBit: true)
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
            // Masks follow the shortest header, and are part of the longer ones.
            headerLength = length + (length > 40 ? 0 : method == 3 ? 12 : method == 6 ? 16 : 0)
        }
    }

    private static func skipRuns(_ reader: inout ByteReader, isFourBit: Bool) throws(ImageError) {
        while true {
            let (count, value) = (try reader.big(1), try reader.big(1))
            switch (count, value) {
            case (0, 0): continue
            case (0, 1): return
            case (0, 2): try reader.skip(2)
            case (0, _):
                let length = isFourBit ? (value + 1) / 2 : value
                try reader.skip(length + length % 2)
            default: continue
            }
        }
    }
}
