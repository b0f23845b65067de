// all text: codes of four bytes

/// The low-overhead form of a HEIF file (ISO/IEC 23008-12, `mini`): one box has the picture's
/// description, packed in bits, and then all of its data.
struct HEIFMini {
    let mediaType: MediaType
    private let width: Int
    private let height: Int
    private let isTurned: Bool

    /// The size as shown: the stored one, turned as the orientation says.
    var size: (width: Int, height: Int) { isTurned ? (height, width) : (width, height) }

    /// Reads the description, and checks that the box has as much data as it states.
    ///
    /// - Parameter claimed: The format that the file type box names. The box may name another.
    init(_ box: inout ByteReader, claimed: MediaType) throws(ImageFault) {
        box.place = "the mini box"
        var bits = BitReader(box)
        guard try bits.next(2) == 0 else { throw box.damaged("has an unknown mini box") }
        let namesCodec = try bits.flag()
        let isFloat = try bits.flag()
        _ = try bits.flag()
        let hasAlpha = try bits.flag()
        let hasColours = try bits.flag()
        let isHDR = try bits.flag()
        let (hasICC, hasExif, hasXMP) = (try bits.flag(), try bits.flag(), try bits.flag())
        let subsampling = try bits.next(2)
        // Orientations 5 to 8 exchange width and height.
        isTurned = try bits.next(3) >= 4
        let dimension = try bits.flag() ? 15 : 7
        width = try bits.next(dimension) + 1
        height = try bits.next(dimension) + 1
        try bits.skipSampling(subsampling)
        try bits.skipDepth(isFloat: isFloat)
        if hasAlpha { try bits.skip(1) }
        if hasColours { try bits.skip(subsampling == 0 ? 16 : 24) }
        if namesCodec {
            let codec = FourCC(value: UInt32(try bits.next(32)))
            try bits.skip(32)
            switch codec {
            case "av01": mediaType = .avif
            case "hvc1", "hev1": mediaType = .heic
            default: throw .notAnImage("a HEIF file coded as \(codec)")
            }
        } else {
            mediaType = claimed
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
        var length = 0
        if hasICC { length += try bits.next(metadataWidth) + 1 }
        if hasToneMapICC { length += try bits.next(metadataWidth) + 1 }
        if hasGainMap {
            length += try bits.next(metadataWidth)
            let data = try bits.next(dataWidth)
            length += data
            if data > 0 { length += try bits.next(configurationWidth) }
        }
        length += try bits.next(configurationWidth)
        length += try bits.next(dataWidth) + 1
        if hasAlpha {
            let data = try bits.next(dataWidth)
            length += data
            if data > 0 { length += try bits.next(configurationWidth) }
        }
        if hasExif || hasXMP { try bits.skip(1) }
        if hasExif { length += try bits.next(metadataWidth) + 1 }
        if hasXMP { length += try bits.next(metadataWidth) + 1 }
        guard length <= bits.remainingBytes else {
            throw box.damaged("has less data in its mini box than that states")
        }
    }
}

/// Reads numbers of any width up to 32 bits, the most significant bit first.
private struct BitReader {
    private var bytes: ByteReader
    private var current = 0
    private var left = 0

    init(_ bytes: ByteReader) { self.bytes = bytes }

    /// The number of bytes after the one that was begun.
    var remainingBytes: Int { bytes.remaining }

    mutating func next(_ width: Int) throws(ImageFault) -> Int {
        var value = 0
        for _ in 0..<width {
            if left == 0 { (current, left) = (try bytes.big(1), 8) }
            left -= 1
            value = value << 1 | current >> left & 1
        }
        return value
    }

    mutating func flag() throws(ImageFault) -> Bool { try next(1) == 1 }

    mutating func skip(_ width: Int) throws(ImageFault) {
        for _ in 0..<width { _ = try next(1) }
    }

    /// Where the chroma samples are: 1 is 4:2:0, and 2 is 4:2:2.
    mutating func skipSampling(_ subsampling: Int) throws(ImageFault) {
        if subsampling == 1 || subsampling == 2 { try skip(3 - subsampling) }
    }

    mutating func skipDepth(isFloat: Bool) throws(ImageFault) {
        if isFloat { return try skip(2) }
        if try flag() { try skip(3) }
    }

    /// Six optional descriptions of light levels and viewing conditions.
    mutating func skipLight() throws(ImageFault) {
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
