/// Windows icons: a directory of bitmaps and PNGs.
enum ICOStructure {
    /// Checks every image once, even if entries share it. Returns the largest size.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .ico)
        reader.place = "its directory"
        try reader.skip(4)
        let count = try reader.little(2)
        guard count > 0 else { throw reader.damaged("has no image") }
        var largest = (width: 0, height: 0)
        var total = 0
        var checked: Set<Range<Int>> = []
        for _ in 0..<count {
            try reader.skip(8)
            let (length, offset) = (try reader.little(4), try reader.little(4))
            guard offset >= 6 + 16 * count, length > 0
            else { throw reader.damaged("has an image inside its directory") }
            let range = offset..<offset + length
            guard range.upperBound <= bytes.count
            else { throw .truncated(.ico, "ends inside an image") }
            guard checked.insert(range).inserted else { continue }
            // Overlapping images could otherwise multiply the work.
            total += length
            guard total <= 4 * bytes.count else { throw reader.damaged("has overlapping images") }
            let size = try imageSize(UnsafeRawBufferPointer(rebasing: bytes[range]))
            if size.width * size.height > largest.width * largest.height { largest = size }
        }
        return ImageInfo(mediaType: .ico, width: largest.width, height: largest.height)
    }

    private static func imageSize(
        _ image: UnsafeRawBufferPointer
    ) throws(ImageError) -> (width: Int, height: Int) {
        if image.starts(with: PNGStructure.signature) {
            do {
                let info = try PNGStructure.inspect(image)
                return (info.width ?? 0, info.height ?? 0)
            } catch {
                throw .damaged(.ico, "has a damaged image: \(error.message)")
            }
        }
        var whole = ByteReader(image, of: .ico)
        var reader = try whole.part(image.count, "an image")
        let bitmap = try BMPStructure.Bitmap(&reader)
        // The height includes the mask's rows. Some writers omit the mask.
        let height = bitmap.height / 2
        let colourTable = bitmap.headerLength == 12 ? 3 : 4
        let pixels = bitmap.pixelLength / bitmap.height * height
        guard !bitmap.isRunLengthEncoded,
            bitmap.headerLength + bitmap.colours * colourTable + pixels <= image.count
        else { throw reader.damaged("has a truncated image") }
        return (bitmap.width, height)
    }
}
