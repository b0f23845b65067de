extension MediaType {
    package static let ico = MediaType("image/vnd.microsoft.icon", name: "ICO")
}

extension ImageFormat {
    static let ico = ImageFormat(
        .ico, suffixes: ["ico"], inspect: ICOStructure.inspect
    ) { $0.starts(with: [0, 0, 1, 0]) }
}

/// Windows icons: a directory of bitmaps and PNGs.
enum ICOStructure {
    /// Checks every picture of the directory once; entries may share one. The size is the largest.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        var reader = ByteReader(bytes, of: .ico)
        reader.place = "its directory"
        try reader.skip(4)
        let count = try reader.little(2)
        guard count > 0 else { throw reader.damaged("has no picture") }
        var largest = (width: 0, height: 0)
        var total = 0
        var checked: Set<Range<Int>> = []
        for _ in 0..<count {
            try reader.skip(8)
            let length = try reader.little(4)
            let offset = try reader.little(4)
            guard offset >= 6 + 16 * count, length > 0 else {
                throw reader.damaged("has a picture inside its directory")
            }
            guard offset + length <= bytes.count else {
                throw .truncated(.ico, "ends inside a picture")
            }
            guard checked.insert(offset..<offset + length).inserted else { continue }
            // Entries may differ in the length of a shared picture, and ask for endless work.
            total += length
            guard total <= 4 * bytes.count else { throw reader.damaged("has overlapping pictures") }
            let size = try pictureSize(
                UnsafeRawBufferPointer(rebasing: bytes[offset..<offset + length]))
            if size.width * size.height > largest.width * largest.height { largest = size }
        }
        return ImageInfo(mediaType: .ico, width: largest.width, height: largest.height)
    }

    private static func pictureSize(
        _ picture: UnsafeRawBufferPointer
    ) throws(ImageError) -> (width: Int, height: Int) {
        if picture.starts(with: PNGStructure.signature) {
            do {
                let info = try PNGStructure.inspect(picture)
                return (info.width ?? 0, info.height ?? 0)
            } catch {
                throw .damaged(.ico, "holds a picture that is not whole: \(error.message)")
            }
        }
        var whole = ByteReader(picture, of: .ico)
        var reader = try whole.part(picture.count, "a picture")
        let bitmap = try BMPStructure.Bitmap(&reader)
        // The header also counts the rows of the mask, which some writers leave out.
        let height = bitmap.height / 2
        let colourTable = bitmap.headerLength == 12 ? 3 : 4
        let pixels = bitmap.pixelLength / bitmap.height * height
        guard bitmap.compression == .none,
            bitmap.headerLength + bitmap.colours * colourTable + pixels <= picture.count
        else { throw reader.damaged("has a picture that is cut short") }
        return (bitmap.width, height)
    }
}
