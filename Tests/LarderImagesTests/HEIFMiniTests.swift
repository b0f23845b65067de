import LarderImages
import Testing

/// AVIF and HEIC in the low-overhead form with a single `mini` box.
struct HEIFMiniTests: ImageTests {
    @Test func theSizeAndFormatOfAMiniFileAreRead() throws {
        let info = ImageInfo(mediaType: .avif, width: 30, height: 20)
        #expect(try inspect(MiniFile().bytes) == info)
        #expect(try inspect(MiniFile(codec: "heic").bytes).mediaType == .heic)
        #expect(try inspect(MiniFile(size: (1000, 128)).bytes).width == 1000)
        #expect(try inspect(MiniFile(size: (32768, 1)).bytes).width == 32768)
    }

    @Test func theMiniBoxNamesTheCodecIfTheBrandDoesNot() throws {
        #expect(try inspect(MiniFile(codec: "\0\0\0\0", item: "av01").bytes).mediaType == .avif)
        #expect(try inspect(MiniFile(codec: "\0\0\0\0", item: "hvc1").bytes).mediaType == .heic)
        let other = MiniFile(codec: "\0\0\0\0", item: "avc1")
        #expect(fault(other.bytes)?.message == "a HEIF file coded as 'avc1', not an image")
    }

    @Test(arguments: 1...8) func aRotatedMiniPictureHasItsDisplayedSize(_ orientation: Int) throws {
        let info = try inspect(MiniFile(orientation: orientation).bytes)
        #expect(info.width == (orientation < 5 ? 30 : 20))
    }

    /// Combines subsampling, depth, alpha, colours, light levels, gain map and metadata.
    @Test(arguments: 0..<64) func optionalPartsOfAMiniFileAreSkipped(_ choice: Int) throws {
        var file = MiniFile(subsampling: choice % 4)
        file.isDeep = choice & 1 != 0
        file.alpha = choice & 2 != 0 ? 9 : nil
        file.hasColours = choice & 4 != 0
        file.hasLight = choice & 8 != 0
        file.metadata = choice & 16 != 0 ? [3, 4, 5] : [nil, nil, nil]
        file.hasGainMap = choice & 40 == 40
        file.item = choice & 32 != 0 ? "av01" : nil
        #expect(try inspect(file.bytes) == ImageInfo(mediaType: .avif, width: 30, height: 20))
        file.lack = 1
        expectDamage(file.bytes, "less data")
    }

    @Test func everyTruncationOfAMiniFileIsDetected() {
        let bytes = MiniFile(alpha: 40).bytes
        for length in 16..<bytes.count {
            #expect(fault(Array(bytes.prefix(length)))?.code == .truncated, "\(length)")
        }
    }

    @Test func bytesAfterTheMiniBoxAreIgnored() {
        #expect(fault(MiniFile().bytes + [1, 2, 3]) == nil)
    }

    @Test func malformedMiniFilesAreRejected() {
        expectDamage(MiniFile(version: 1).bytes, "unknown version")
        let head = Bytes.big(16, 4) + Array("ftypmif3avif".utf8)
        expectDamage(head + Bytes.big(10, 4) + Array("mini".utf8) + [0, 0], "too few bytes")
        #expect(fault(head)?.code == .truncated)
    }
}

/// A file with a `mini` box and meaningless image data.
private struct MiniFile {
    var codec = "avif"
    var version = 0
    var size = (width: 30, height: 20)
    var orientation = 1
    var subsampling = 1
    var isDeep = false
    /// The number of bytes of the alpha plane.
    var alpha: Int?
    var hasColours = false
    var hasLight = false
    var hasGainMap = false
    /// The number of bytes of the ICC profile, of Exif and of XMP.
    var metadata: [Int?] = [nil, nil, nil]
    /// The codec that the box itself names.
    var item: String?
    /// The number of bytes by which the data is too short.
    var lack = 0

    var bytes: [UInt8] {
        let box = content
        return Bytes.big(16, 4) + Array("ftypmif3".utf8) + Array(codec.utf8)
            + Bytes.big(box.count + 8, 4) + Array("mini".utf8) + box
    }

    private var content: [UInt8] {
        var bits = Bits()
        let isHDR = hasLight || hasGainMap
        bits.add(version, 2)
        bits.add([item != nil, false, true, alpha != nil, hasColours, isHDR])
        bits.add(metadata.map { $0 != nil })
        bits.add(subsampling, 2)
        bits.add(orientation - 1, 3)
        let isLarge = max(size.width, size.height) > 128
        bits.add([isLarge])
        for length in [size.width, size.height] { bits.add(length - 1, isLarge ? 15 : 7) }
        bits.add(0, [0, 2, 1, 0][subsampling])
        bits.add(isDeep ? 0b1001 : 0, isDeep ? 4 : 1)
        if alpha != nil { bits.add(0, 1) }
        if hasColours { bits.add(0xFFFFFF, subsampling == 0 ? 16 : 24) }
        if let item { (Array(item.utf8) + Array("av1C".utf8)).forEach { bits.add(Int($0), 8) } }
        if isHDR { addLight(&bits, isLarge: isLarge) }
        let hasMetadata = metadata.contains { $0 != nil } || hasGainMap
        if hasMetadata { bits.add([false]) }
        bits.add([false, true])
        if let profile = metadata[0] { bits.add(profile - 1, 10) }
        if hasGainMap {
            bits.add(7, 10)
            bits.add(11, 28)
            bits.add(4, 3)
        }
        bits.add(4, 3)
        bits.add(100 - 1, 28)
        if let alpha {
            bits.add(alpha, 28)
            bits.add(0, 3)
        }
        if metadata[1] != nil || metadata[2] != nil { bits.add([false]) }
        for part in metadata.dropFirst() { if let part { bits.add(part - 1, 10) } }
        let data =
            4 + 100 + (alpha ?? 0) + metadata.reduce(0) { $0 + ($1 ?? 0) }
            + (hasGainMap ? 7 + 11 + 4 : 0)
        return bits.bytes + [UInt8](repeating: 0xAA, count: data - lack)
    }

    private func addLight(_ bits: inout Bits, isLarge: Bool) {
        bits.add([hasGainMap])
        if hasGainMap {
            bits.add(0, 2 * (isLarge ? 15 : 7))
            bits.add(1, 8)
            bits.add(0, 1)
            bits.add(2, 2)
            bits.add(0, 1)
            bits.add([false, false, false, true])
            bits.add(0, 25)
        }
        // All six descriptions, with all parts of the third. The gain map has no descriptions.
        bits.add(0b111111, 6)
        bits.add(0, 32)
        bits.add(0, 192)
        bits.add(0b00_1111_00, 8)
        bits.add(0, 192 + 3 * 32)
        bits.add(0, 64 + 128 + 32)
        if hasGainMap { bits.add(0, 6) }
    }

    private struct Bits {
        private var bits: [Int] = []

        mutating func add(_ value: Int, _ width: Int) {
            bits += (0..<width).reversed().map { $0 < Int.bitWidth ? value >> $0 & 1 : 0 }
        }

        mutating func add(_ flags: [Bool]) { flags.forEach { add($0 ? 1 : 0, 1) } }

        var bytes: [UInt8] {
            let padded = bits + Array(repeating: 0, count: (8 - bits.count % 8) % 8)
            return stride(from: 0, to: padded.count, by: 8).map { start in
                UInt8(padded[start..<start + 8].reduce(0) { $0 << 1 | $1 })
            }
        }
    }
}
