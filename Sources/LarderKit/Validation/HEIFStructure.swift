// all text: codes of four bytes

/// AVIF and HEIC: pictures in a HEIF file (ISO/IEC 23008-12) of boxes (ISO/IEC 14496-12).
enum HEIFStructure {
    /// The format that the file type box claims; nil if it claims no HEIF picture.
    ///
    /// A file that names only the container's own brands passes as HEIC until its items are seen.
    static func recognise(_ bytes: UnsafeRawBufferPointer) -> MediaType? {
        var reader = ByteReader(bytes, of: .heic)
        guard let length = try? reader.big(4), let type = try? reader.fourCC(), type == "ftyp",
            let major = try? reader.fourCC(), (try? reader.skip(4)) != nil
        else { return nil }
        var isContainer = false
        var brand = major
        while true {
            switch brand {
            case "avif", "avis": return .avif
            case "heic", "heix", "hevc", "hevx", "heim", "heis", "hevm", "hevs": return .heic
            case "mif1", "mif2", "msf1", "miaf": isContainer = true
            default: break
            }
            guard reader.offset + 4 <= length, let next = try? reader.fourCC() else { break }
            brand = next
        }
        return isContainer ? .heic : nil
    }

    /// Walks the boxes to the file's exact end and finds the primary item's size; checks that
    /// every item's bytes are inside the file.
    ///
    /// The size is that of the primary item, turned as its `irot` says; a clean aperture is not
    /// looked at. Image sequences need a still picture too, as their writers give them.
    static func inspect(
        _ bytes: UnsafeRawBufferPointer, as claimed: MediaType
    ) throws(ImageFault) -> ImageInfo {
        var reader = ByteReader(bytes, of: claimed)
        var meta: HEIFItems?
        var isFilm = false
        while var box = try nextBox(&reader) {
            if box.type == "meta", meta == nil { meta = try HEIFItems(&box.content) }
            if box.type == "moov" { isFilm = true }
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
