// all text: codes of four bytes

/// AVIF and HEIC: pictures in a HEIF file (ISO/IEC 23008-12) of boxes (ISO/IEC 14496-12).
enum HEIFStructure {
    /// The format that the file type box claims; nil if it claims no HEIF picture.
    ///
    /// A file that names only the container's own brands passes as HEIC until its items are seen.
    static func recognise(_ bytes: UnsafeRawBufferPointer) -> MediaType? {
        var reader = ByteReader(bytes, of: .heic)
        guard let length = try? reader.big(4), let type = try? reader.fourCC(), type == "ftyp",
            let major = try? reader.fourCC(), let minor = try? reader.fourCC()
        else { return nil }
        // With this brand, the minor version is the brand of the codec.
        let isLowOverhead = major == "mif3"
        if isLowOverhead, let codec = codec(of: minor) { return codec }
        var isContainer = isLowOverhead
        var brand = major
        while true {
            if let codec = codec(of: brand) { return codec }
            if ["mif1", "mif2", "mif3", "msf1", "miaf"].contains(brand) { isContainer = true }
            guard reader.offset + 4 <= length, let next = try? reader.fourCC() else { break }
            brand = next
        }
        return isContainer ? .heic : nil
    }

    private static func codec(of brand: FourCC) -> MediaType? {
        switch brand {
        case "avif", "avis": .avif
        case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs": .heic
        default: nil
        }
    }

    /// Walks the boxes and finds the primary item's size; checks that every picture's bytes are
    /// inside the file.
    ///
    /// The size is that of the primary item, turned as its `irot` says; a clean aperture is not
    /// looked at. Image sequences need a still picture too, as their writers give them. What
    /// follows a still picture and is not a box is ignored, as libavif and libheif do.
    static func inspect(
        _ bytes: UnsafeRawBufferPointer, as claimed: MediaType
    ) throws(ImageFault) -> ImageInfo {
        var reader = ByteReader(bytes, of: claimed)
        var meta: HEIFItems?
        var isFilm = false
        while meta == nil || isFilm || !endsInPadding(reader), var box = try nextBox(&reader) {
            if box.type == "meta", meta == nil { meta = try HEIFItems(&box.content) }
            if box.type == "moov" { isFilm = true }
            if box.type == "mini", meta == nil {
                let mini = try HEIFMini(&box.content, claimed: claimed)
                return ImageInfo(
                    mediaType: mini.mediaType, width: mini.size.width, height: mini.size.height)
            }
        }
        guard let meta else {
            throw isFilm
                ? reader.damaged("has no still picture (no meta box)")
                : .truncated(claimed, "ends before its meta box")
        }
        try meta.checkLocations(fileLength: bytes.count)
        let size = try meta.primarySize()
        return ImageInfo(
            mediaType: try meta.codec(claimed: claimed), width: size.width, height: size.height)
    }

    /// Whether what remains is not a whole box, nor the beginning of one that has data.
    private static func endsInPadding(_ file: ByteReader) -> Bool {
        var rest = file
        guard let length = try? rest.big(4), let type = try? rest.fourCC() else {
            return file.remaining > 0
        }
        let isWhole = length < 2 || 8...file.remaining ~= length
        return !isWhole && !["mdat", "moov", "moof", "meta", "idat", "mini"].contains(type)
    }

    static func nextBox(
        _ reader: inout ByteReader
    ) throws(ImageFault) -> (type: FourCC, content: ByteReader)? {
        guard reader.remaining > 0 else { return nil }
        reader.place = "a box's header"
        let start = reader.offset
        var length = try reader.big(4)
        let type = try reader.fourCC()
        // 1: the length has 64 bits and follows; 0: the box is the last one.
        if length == 1 { length = try reader.big(8) }
        if length == 0 { length = reader.bytes.count - start }
        let headerLength = reader.offset - start
        guard length >= headerLength else {
            throw reader.damaged("has an impossible box \(type) of \(length) bytes")
        }
        reader.place = "a box"
        return (type, try reader.part(length - headerLength, "a box"))
    }
}
