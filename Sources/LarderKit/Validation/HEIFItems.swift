// all text: codes of four bytes

/// The items of a HEIF file's meta box (ISO/IEC 14496-12 §8.11): which one is primary, where their
/// bytes are, and what properties they have.
struct HEIFItems {
    private let primary: Int
    private let types: ByteReader
    private let locations: ByteReader
    private let properties: ByteReader
    private let associations: ByteReader
    private let dataLength: Int

    init(_ meta: inout ByteReader) throws(ImageFault) {
        var primary: Int?
        var types: ByteReader?
        var locations: ByteReader?
        var properties: ByteReader?
        var associations: ByteReader?
        var dataLength = 0
        try meta.skip(4)
        while var box = try HEIFStructure.nextBox(&meta) {
            switch box.type {
            case "pitm":
                let version = try box.content.big(4) >> 24
                primary = try box.content.big(version == 0 ? 2 : 4)
            case "iinf": types = box.content
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
        guard let primary, let types, let locations, let properties, let associations else {
            throw meta.damaged("does not say where its picture is")
        }
        self.primary = primary
        self.types = types
        self.locations = locations
        self.properties = properties
        self.associations = associations
        self.dataLength = dataLength
    }

    /// The format: as claimed, unless the coded items say otherwise.
    func codec(claimed: MediaType) throws(ImageFault) -> MediaType {
        var reader = types
        let version = try reader.big(4) >> 24
        try reader.skip(version == 0 ? 2 : 4)
        var coding: FourCC?
        while var entry = try HEIFStructure.nextBox(&reader) {
            guard entry.type == "infe" else { continue }
            let version = try entry.content.big(4) >> 24
            guard version >= 2 else { continue }
            try entry.content.skip(version == 2 ? 4 : 6)
            switch try entry.content.fourCC() {
            case "av01": return .avif
            case "hvc1", "hev1": return .heic
            case "grid", "iovl", "iden", "Exif", "mime", "uri ": break
            case let other: coding = coding ?? other
            }
        }
        if let coding { throw .notAnImage("a HEIF file coded as \(coding)") }
        throw reader.damaged("has no coded picture")
    }

    /// Whether an item is metadata, and no part of a picture.
    private func isMetadata(_ item: Int) throws(ImageFault) -> Bool {
        var reader = types
        let version = try reader.big(4) >> 24
        try reader.skip(version == 0 ? 2 : 4)
        while var entry = try HEIFStructure.nextBox(&reader) {
            guard entry.type == "infe" else { continue }
            let version = try entry.content.big(4) >> 24
            guard version >= 2, try entry.content.big(version == 2 ? 2 : 4) == item else {
                continue
            }
            try entry.content.skip(2)
            return ["Exif", "mime", "uri "].contains(try entry.content.fourCC())
        }
        return false
    }

    /// The maximum number of metadata items that may lie outside the file. Finding out that an item
    /// is one takes time in proportion to the number of items.
    private static let lostMetadataLimit = 16

    /// Checks that every picture's bytes are inside the file, and that the primary item has some.
    func checkLocations(fileLength: Int) throws(ImageFault) {
        var reader = locations
        reader.place = "the item locations"
        let version = try reader.big(4) >> 24
        guard version <= 2 else { throw reader.damaged("has unknown item locations") }
        let widths = try reader.big(2)
        let (offsetWidth, lengthWidth) = (widths >> 12, widths >> 8 & 15)
        let (baseWidth, indexWidth) = (widths >> 4 & 15, version == 0 ? 0 : widths & 15)
        guard [offsetWidth, lengthWidth, baseWidth, indexWidth].allSatisfy({ $0 <= 8 }) else {
            throw reader.damaged("has unknown item locations")
        }
        var hasPrimary = false
        var lostMetadata = 0
        for _ in 0..<(try reader.big(version < 2 ? 2 : 4)) {
            let item = try reader.big(version < 2 ? 2 : 4)
            // Where the offsets count from: 0 the file, 1 the idat box, 2 another item.
            let method = version == 0 ? 0 : try reader.big(2) & 15
            let isElsewhere = try reader.big(2) != 0 || method > 1
            let base = try reader.big(baseWidth)
            let extents = try reader.big(2)
            // Those that take no bytes are all the same; else a small file could ask for endless
            // work.
            let areAlike = indexWidth + offsetWidth + lengthWidth == 0
            for _ in 0..<(areAlike ? min(extents, 1) : extents) {
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
                guard lostMetadata <= Self.lostMetadataLimit, try isMetadata(item) else {
                    throw .truncated(reader.type, "has its picture beyond the file's end")
                }
            }
            if item == primary, extents > 0 { hasPrimary = true }
        }
        guard hasPrimary else { throw reader.damaged("does not say where its picture is") }
    }

    /// The primary item's size, from its `ispe` and `irot` properties.
    func primarySize() throws(ImageFault) -> (width: Int, height: Int) {
        let wanted = try primaryProperties()
        var reader = properties
        var index = 0
        var size: (width: Int, height: Int)?
        var isTurned = false
        // A property's index has 15 bits, so that later ones cannot be meant.
        while index < 0x7FFF, var box = try HEIFStructure.nextBox(&reader) {
            index += 1
            switch box.type {
            case "ispe" where wanted.contains(index):
                try box.content.skip(4)
                size = (try box.content.big(4), try box.content.big(4))
            case "irot" where wanted.contains(index):
                isTurned = try box.content.big(1) & 1 == 1
            default: break
            }
        }
        guard let size, size.width > 0, size.height > 0 else {
            throw reader.damaged("does not say how large its picture is")
        }
        return isTurned ? (size.height, size.width) : size
    }

    /// The indices, from 1, of the properties that the first association of the primary item has.
    private func primaryProperties() throws(ImageFault) -> [Int] {
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
            // The highest bit says whether a reader must know the property.
            let mask = indexWidth == 1 ? 0x7F : 0x7FFF
            for _ in 0..<count { indices.append(try reader.big(indexWidth) & mask) }
            return indices
        }
        return []
    }
}
