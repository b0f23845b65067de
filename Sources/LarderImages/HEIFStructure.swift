// all text: exempt from Scripts/lint, because each compared literal is a four-byte number.

/// AVIF and HEIC: HEIF files (ISO/IEC 23008-12), which consist of boxes (ISO/IEC 14496-12).
enum HEIFStructure {
    /// Returns the format that the file type box claims, or HEIC if it has only container brands.
    static func recognise(_ bytes: UnsafeRawBufferPointer) -> MediaType? {
        var reader = ByteReader(bytes, of: .heic)
        guard let length = try? reader.big(4), let type = try? reader.fourCC(), type == "ftyp",
            let major = try? reader.fourCC(), let minor = try? reader.fourCC()
        else { return nil }
        // In files of this brand, the minor version is the codec's brand.
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

    /// Checks that the bytes of all images are inside the file. Returns the primary item's size,
    /// rotated by its `irot`. Ignores a clean aperture (`clap`), and trailing bytes that are not a
    /// box, as libavif and libheif do. An image sequence must also have a still image.
    static func inspect(_ bytes: UnsafeRawBufferPointer) throws(ImageError) -> ImageInfo {
        let claimed = recognise(bytes) ?? .heic
        var reader = ByteReader(bytes, of: claimed)
        var meta: HEIFItems?
        var isFilm = false
        while meta == nil || isFilm || !endsInPadding(reader), var box = try nextBox(&reader) {
            if box.type == "meta", meta == nil { meta = try HEIFItems(&box.content) }
            if box.type == "moov" { isFilm = true }
            if box.type == "mini", meta == nil {
                return try HEIFMini.inspect(&box.content, claimed: claimed)
            }
        }
        guard let meta else {
            throw isFilm
                ? reader.damaged("has no still image (no meta box)")
                : .truncated(claimed, "ends before its meta box")
        }
        try meta.checkLocations(fileLength: bytes.count)
        let size = try meta.primarySize()
        return ImageInfo(
            mediaType: try meta.codec(), width: size.width, height: size.height,
            isAnimated: isFilm)
    }

    /// Whether the remaining bytes are neither a complete box nor the start of image data.
    private static func endsInPadding(_ file: ByteReader) -> Bool {
        var rest = file
        guard let length = try? rest.big(4), let type = try? rest.fourCC()
        else { return file.remaining > 0 }
        let isWhole = length < 2 || 8...file.remaining ~= length
        return !isWhole && !["mdat", "moov", "moof", "meta", "idat", "mini"].contains(type)
    }

    static func nextBox(
        _ reader: inout ByteReader
    ) throws(ImageError) -> (type: FourCC, content: ByteReader)? {
        guard reader.remaining > 0 else { return nil }
        reader.place = "a box's header"
        let start = reader.offset
        var length = try reader.big(4)
        let type = try reader.fourCC()
        // If the length is 1, a 64-bit length follows. If it is 0, the box extends to the end.
        if length == 1 { length = try reader.big(8) }
        if length == 0 { length = reader.bytes.count - start }
        let headerLength = reader.offset - start
        guard length >= headerLength
        else { throw reader.damaged("has an invalid box \(type) of \(length) bytes") }
        reader.place = "a box"
        return (type, try reader.part(length - headerLength, "a box"))
    }
}

/// The items in the meta box of a HEIF file (ISO/IEC 14496-12 §8.11).
struct HEIFItems {
    private let primary: Int
    private let items: ByteReader
    private let locations: ByteReader
    private let properties: ByteReader
    private let associations: ByteReader
    private let dataLength: Int

    init(_ meta: inout ByteReader) throws(ImageError) {
        var primary: Int?
        var (items, locations): (ByteReader?, ByteReader?)
        var (properties, associations): (ByteReader?, ByteReader?)
        var dataLength = 0
        try meta.skip(4)
        while var box = try HEIFStructure.nextBox(&meta) {
            switch box.type {
            case "pitm":
                let version = try box.content.big(4) >> 24
                primary = try box.content.big(version == 0 ? 2 : 4)
            case "iinf":
                let version = try box.content.big(4) >> 24
                try box.content.skip(version == 0 ? 2 : 4)
                items = box.content
            case "iloc": locations = box.content
            case "idat": dataLength = box.content.remaining
            case "iprp":
                while let part = try HEIFStructure.nextBox(&box.content) {
                    if part.type == "ipco" { properties = part.content }
                    if part.type == "ipma", associations == nil { associations = part.content }
                }
            default: break
            }
        }
        guard let primary, let items, let locations, let properties, let associations
        else { throw meta.damaged("has no location for its primary image") }
        (self.primary, self.items, self.locations) = (primary, items, locations)
        (self.properties, self.associations) = (properties, associations)
        self.dataLength = dataLength
    }

    func codec() throws(ImageError) -> MediaType {
        var coding: FourCC?
        var reader = items
        while let item = try Self.nextItem(&reader) {
            switch item.type {
            case "av01": return .avif
            case "hvc1", "hev1": return .heic
            case "grid", "iovl", "iden", "Exif", "mime", "uri ": break
            case let other: coding = coding ?? other
            }
        }
        if let coding { throw .notAnImage("a HEIF file coded as \(coding)") }
        throw reader.damaged("has no coded image")
    }

    private func isMetadata(_ number: Int) throws(ImageError) -> Bool {
        var reader = items
        while let item = try Self.nextItem(&reader) {
            if item.number == number { return ["Exif", "mime", "uri "].contains(item.type) }
        }
        return false
    }

    private static func nextItem(
        _ reader: inout ByteReader
    ) throws(ImageError) -> (number: Int, type: FourCC)? {
        while var entry = try HEIFStructure.nextBox(&reader) {
            guard entry.type == "infe" else { continue }
            let version = try entry.content.big(4) >> 24
            guard version >= 2 else { continue }
            let number = try entry.content.big(version == 2 ? 2 : 4)
            try entry.content.skip(2)
            return (number, try entry.content.fourCC())
        }
        return nil
    }

    /// The maximum number of metadata extents beyond the end of the file. Each needs a search.
    private static let lostMetadataLimit = 16

    func checkLocations(fileLength: Int) throws(ImageError) {
        var reader = locations
        reader.place = "the item locations"
        let version = try reader.big(4) >> 24
        guard version <= 2 else { throw reader.damaged("has item locations in an unknown format") }
        let widths = try reader.big(2)
        let (offsetWidth, lengthWidth) = (widths >> 12, widths >> 8 & 15)
        let (baseWidth, indexWidth) = (widths >> 4 & 15, version == 0 ? 0 : widths & 15)
        guard [offsetWidth, lengthWidth, baseWidth, indexWidth].allSatisfy({ $0 <= 8 })
        else { throw reader.damaged("has item locations in an unknown format") }
        var hasPrimary = false
        var lostMetadata = 0
        for _ in 0..<(try reader.big(version < 2 ? 2 : 4)) {
            let item = try reader.big(version < 2 ? 2 : 4)
            // The base of the offsets: the file (0), the idat box (1) or another item (2).
            let method = version == 0 ? 0 : try reader.big(2) & 15
            let isElsewhere = try reader.big(2) != 0 || method > 1
            let base = try reader.big(baseWidth)
            let extents = try reader.big(2)
            // A small file could declare a huge number of empty extents.
            let areIdentical = indexWidth + offsetWidth + lengthWidth == 0
            for _ in 0..<(areIdentical ? min(extents, 1) : extents) {
                try reader.skip(indexWidth)
                let offset = try reader.big(offsetWidth)
                let length = try reader.big(lengthWidth)
                let end = base.addingReportingOverflow(offset)
                let limit = method == 0 ? fileLength : dataLength
                let isInside =
                    !end.overflow && end.partialValue <= limit
                    && length <= limit - end.partialValue
                if isElsewhere || isInside { continue }
                lostMetadata += 1
                guard lostMetadata <= Self.lostMetadataLimit, try isMetadata(item)
                else { throw .truncated(reader.type, "has image data beyond the end of the file") }
            }
            if item == primary, extents > 0 { hasPrimary = true }
        }
        guard hasPrimary else { throw reader.damaged("has no location for its primary image") }
    }

    func primarySize() throws(ImageError) -> (width: Int, height: Int) {
        let wanted = try primaryProperties()
        var reader = properties
        var index = 0
        var size: (width: Int, height: Int)?
        var isTurned = false
        // A property index has 15 bits.
        while index < 0x7FFF, var box = try HEIFStructure.nextBox(&reader) {
            index += 1
            switch box.type {
            case "ispe" where wanted.contains(index):
                try box.content.skip(4)
                size = (try box.content.big(4), try box.content.big(4))
            case "irot" where wanted.contains(index): isTurned = try box.content.big(1) & 1 == 1
            default: break
            }
        }
        guard let size, size.width > 0, size.height > 0
        else { throw reader.damaged("has no image size") }
        return isTurned ? (size.height, size.width) : size
    }

    private func primaryProperties() throws(ImageError) -> [Int] {
        var reader = associations
        reader.place = "the item properties"
        let head = try reader.big(4)
        let (itemWidth, indexWidth) = (head >> 24 == 0 ? 2 : 4, head & 1 == 0 ? 1 : 2)
        for _ in 0..<(try reader.big(4)) {
            let item = try reader.big(itemWidth)
            let count = try reader.big(1)
            guard item == primary else {
                try reader.skip(count * indexWidth)
                continue
            }
            var indices: [Int] = []
            // The highest bit marks a property as essential.
            let mask = indexWidth == 1 ? 0x7F : 0x7FFF
            for _ in 0..<count { indices.append(try reader.big(indexWidth) & mask) }
            return indices
        }
        return []
    }
}

/// The low-overhead form (ISO/IEC 23008-12, `mini`): a bit-packed description, then the image data.
enum HEIFMini {
    /// Checks the length of the data. The box may specify a format other than `claimed`.
    static func inspect(
        _ box: inout ByteReader, claimed: MediaType
    ) throws(ImageError) -> ImageInfo {
        box.place = "the mini box"
        var bits = BitReader(box)
        guard try bits.next(2) == 0 else { throw box.damaged("has a mini box of unknown version") }
        let (namesCodec, isFloat, _) = (try bits.flag(), try bits.flag(), try bits.flag())
        let (hasAlpha, hasColours, isHDR) = (try bits.flag(), try bits.flag(), try bits.flag())
        let (hasICC, hasExif, hasXMP) = (try bits.flag(), try bits.flag(), try bits.flag())
        let subsampling = try bits.next(2)
        // Orientations 5 to 8 swap width and height.
        let isTurned = try bits.next(3) >= 4
        let dimension = try bits.flag() ? 15 : 7
        let (width, height) = (try bits.next(dimension) + 1, try bits.next(dimension) + 1)
        try bits.skipSampling(subsampling)
        try bits.skipDepth(isFloat: isFloat)
        if hasAlpha { try bits.skip(1) }
        if hasColours { try bits.skip(subsampling == 0 ? 16 : 24) }
        var mediaType = claimed
        if namesCodec {
            let codec = FourCC(value: UInt32(try bits.next(32)))
            try bits.skip(32)
            switch codec {
            case "av01": mediaType = .avif
            case "hvc1", "hev1": mediaType = .heic
            default: throw .notAnImage("a HEIF file coded as \(codec)")
            }
        }
        var hasGainMap = false
        var hasToneMapICC = false
        if isHDR {
            hasGainMap = try bits.flag()
            if hasGainMap {
                try bits.skip(2 * dimension + 8 + 1)
                try bits.skipSampling(try bits.next(2))
                try bits.skipDepth(isFloat: try bits.flag())
                hasToneMapICC = try bits.flag()
                if try bits.flag() { try bits.skip(25) }
            }
            try bits.skipLight()
            if hasGainMap { try bits.skipLight() }
        }
        let hasMetadata = hasICC || hasExif || hasXMP || hasGainMap
        let metadataWidth = hasMetadata ? try bits.flag() ? 20 : 10 : 10
        let configurationWidth = try bits.flag() ? 12 : 3
        let dataWidth = try bits.flag() ? 28 : 15
        func optionalData() throws(ImageError) -> Int {
            let data = try bits.next(dataWidth)
            return try data == 0 ? 0 : data + bits.next(configurationWidth)
        }
        var length = 0
        if hasICC { length += try bits.next(metadataWidth) + 1 }
        if hasToneMapICC { length += try bits.next(metadataWidth) + 1 }
        if hasGainMap { length += try bits.next(metadataWidth) + optionalData() }
        length += try bits.next(configurationWidth)
        length += try bits.next(dataWidth) + 1
        if hasAlpha { length += try optionalData() }
        if hasExif || hasXMP { try bits.skip(1) }
        if hasExif { length += try bits.next(metadataWidth) + 1 }
        if hasXMP { length += try bits.next(metadataWidth) + 1 }
        guard length <= bits.bytes.remaining
        else { throw box.damaged("has less data than its mini box specifies") }
        let size = isTurned ? (height, width) : (width, height)
        return ImageInfo(mediaType: mediaType, width: size.0, height: size.1)
    }
}

/// A reader of numbers of up to 32 bits, most significant bit first.
private struct BitReader {
    private(set) var bytes: ByteReader
    private var current = 0
    private var left = 0

    init(_ bytes: ByteReader) { self.bytes = bytes }

    mutating func next(_ width: Int) throws(ImageError) -> Int {
        var value = 0
        for _ in 0..<width {
            if left == 0 { (current, left) = (try bytes.big(1), 8) }
            left -= 1
            value = value << 1 | current >> left & 1
        }
        return value
    }

    mutating func flag() throws(ImageError) -> Bool { try next(1) == 1 }

    mutating func skip(_ width: Int) throws(ImageError) { for _ in 0..<width { _ = try next(1) } }

    /// Skips the chroma sample positions. Subsampling 1 is 4:2:0, 2 is 4:2:2.
    mutating func skipSampling(_ subsampling: Int) throws(ImageError) {
        if subsampling == 1 || subsampling == 2 { try skip(3 - subsampling) }
    }

    mutating func skipDepth(isFloat: Bool) throws(ImageError) {
        if isFloat { return try skip(2) }
        if try flag() { try skip(3) }
    }

    mutating func skipLight() throws(ImageError) {
        let (hasLevels, hasMastering, hasVolume) = (try flag(), try flag(), try flag())
        let (hasAmbient, hasReference, hasWhite) = (try flag(), try flag(), try flag())
        if hasLevels { try skip(32) }
        if hasMastering { try skip(192) }
        if hasVolume {
            try skip(2)
            let (hasPrimaries, hasLeast) = (try flag(), try flag())
            let (hasMost, hasMean) = (try flag(), try flag())
            try skip(2)
            if hasPrimaries { try skip(192) }
            try skip(32 * [hasLeast, hasMost, hasMean].count { $0 })
        }
        if hasAmbient { try skip(64) }
        if hasReference { try skip(128) }
        if hasWhite { try skip(32) }
    }
}
