import LarderTestSupport
import Testing

@testable import LarderImages

struct PNGStructureTests: ImageTests {
    private static let signature: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private let header = Self.header()
    private let pixels = Self.chunk("IDAT", [1, 2, 3])
    private let end = Self.chunk("IEND", [])

    @Test func theSizeOfAPNGIsRead() throws {
        let file = png([Self.header(width: 640, height: 3), pixels, end])
        #expect(try inspect(file) == ImageInfo(mediaType: .png, width: 640, height: 3))
    }

    @Test func bytesAfterTheEndOfAPNGAreIgnored() throws {
        #expect(fault(png([header, pixels, end, [0, 0, 13, 10]])) == nil)
    }

    @Test func animatedPNGFilesAreRecognised() throws {
        func file(frames: Int) -> [UInt8] {
            png([
                header, Self.chunk("acTL", Bytes.big(frames, 4) + Bytes.big(0, 4)),
                Self.chunk("fcTL", Bytes.big(0, 26)),
                pixels, Self.chunk("fcTL", Bytes.big(1, 26)),
                Self.chunk("fdAT", Bytes.big(2, 4) + [1, 2]), end,
            ])
        }
        #expect(try inspect(file(frames: 2)).isAnimated)
        #expect(try !inspect(file(frames: 1)).isAnimated)
    }

    @Test func applesVariantOfPNGIsAccepted() {
        #expect(fault(png([Self.chunk("CgBI", [0x50, 0, 0x20, 6]), header, pixels, end])) == nil)
    }

    @Test func pngSizesRangeFromOneToTheFormatsLimit() {
        for (width, isLegal) in [(0, false), (1, true), (0x7FFF_FFFF, true), (0x8000_0000, false)] {
            let wide = png([Self.header(width: width, height: 1), pixels, end])
            let high = png([Self.header(width: 1, height: width), pixels, end])
            #expect((fault(wide) == nil) == isLegal)
            #expect((fault(high) == nil) == isLegal)
        }
    }

    @Test func onlyLegalBitDepthsOfAPNGAreAccepted() {
        let legal: [Int: Set<Int>] = [
            0: [1, 2, 4, 8, 16], 2: [8, 16], 3: [1, 2, 4, 8], 4: [8, 16], 6: [8, 16],
        ]
        let palette = Self.chunk("PLTE", [1, 2, 3])
        for type in 0...7 {
            for depth in 0...17 {
                let header = Self.header(depth: depth, type: type)
                let isWhole = fault(png([header, palette, pixels, end])) == nil
                #expect(isWhole == (legal[type]?.contains(depth) ?? false), "\(type), \(depth)")
            }
        }
    }

    @Test func aPNGPaletteMustPrecedeThePixelsThatNeedIt() {
        let header = Self.header(type: 3)
        let palette = Self.chunk("PLTE", [1, 2, 3])
        #expect(fault(png([header, palette, pixels, end])) == nil)
        expectDamage([header, pixels, end], "palette")
        expectDamage([header, pixels, palette, end], "palette")
        expectDamage([header, palette, palette, pixels, end], "palette")
        expectDamage([header, Self.chunk("PLTE", [1, 2]), pixels, end], "palette")
    }

    @Test func theOrderOfPNGChunksIsChecked() {
        let text = Self.chunk("tEXt", [65, 0, 66])
        #expect(fault(png([header, text, pixels, pixels, text, end])) == nil)
        expectDamage([pixels, header, end], "IHDR")
        expectDamage([header, pixels, text, pixels, end], "not consecutive")
        expectDamage([header, text, end], "no pixels")
        expectDamage([header, Self.chunk("IDAT", []), end], "no pixels")
        expectDamage([header, header, pixels, end], "'IHDR'")
        expectDamage([header, Self.chunk("ABCD", []), pixels, end], "'ABCD'")
    }

    @Test(arguments: ["tEXt", "pHYs", "tRNS", "iCCP", "eXIf", "zzZz"])
    func aWrongChecksumInAnAncillaryPNGChunkIsIgnored(_ type: String) {
        let damaged = Self.damaged(Self.chunk(type, [65, 0, 66]))
        #expect(fault(png([header, damaged, pixels, damaged, end])) == nil)
    }

    @Test func aWrongChecksumInAPictureChunkOfAPNGIsDetected() {
        let palette = Self.chunk("PLTE", [1, 2, 3])
        let frame = Self.chunk("fdAT", Bytes.big(2, 4) + [1, 2])
        let whole = [header, palette, pixels, Self.chunk("fcTL", Bytes.big(1, 26)), frame, end]
        #expect(fault(png(whole)) == nil)
        for place in whole.indices {
            var chunks = whole
            chunks[place] = Self.damaged(chunks[place])
            expectDamage(chunks, "checksum in chunk")
        }
        // The flipped bit turns the second pixel chunk into an ancillary one.
        var flipped = pixels
        flipped[4] ^= 0x20
        expectDamage([header, pixels, flipped, end], "checksum in chunk 'iDAT'")
    }

    @Test func anAncillaryPNGChunkBeyondTheEndIsTruncated() {
        let text = Self.chunk("tEXt", [65, 0, 66])
        #expect(fault(png([header, pixels, text]).dropLast())?.code == .truncated)
    }

    @Test func impossiblePNGChunksAreRejected() {
        expectDamage(
            [header, Bytes.big(0, 4) + [1, 2, 3, 4] + Bytes.big(0, 4), end],
            "invalid chunk 0x1020")
        let endless = png([header, Bytes.big(0x7FFF_FFFF, 4) + Array("IDAT".utf8)])
        #expect(fault(endless)?.code == .truncated)
        #expect(fault(png([header, pixels]))?.message == "PNG ends before IEND")
    }

    @Test func convertedLineEndingsInAPNGAreNamed() {
        let converted = png([header, pixels, end]).filter { $0 != 0x0D }
        #expect(fault(converted)?.code == .damaged)
        #expect(fault(converted)?.message.contains("line endings") == true)
    }

    private func png(_ chunks: [[UInt8]]) -> [UInt8] { Self.signature + chunks.flatMap { $0 } }

    private func expectDamage(
        _ chunks: [[UInt8]], _ word: String, at place: SourceLocation = #_sourceLocation
    ) {
        expectDamage(png(chunks), word, at: place)
    }

    private static func header(
        width: Int = 1, height: Int = 1, depth: Int = 8, type: Int = 6
    ) -> [UInt8] {
        chunk(
            "IHDR",
            Bytes.big(width, 4) + Bytes.big(height, 4) + [UInt8(depth), UInt8(type), 0, 0, 0])
    }

    /// Returns the chunk with a wrong CRC.
    private static func damaged(_ chunk: [UInt8]) -> [UInt8] {
        chunk.dropLast() + [chunk[chunk.count - 1] ^ 1]
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let covered = Array(type.utf8) + content
        let crc = covered.withUnsafeBytes { CRC32.checksum(of: $0) }
        return Bytes.big(content.count, 4) + covered + Bytes.big(Int(crc), 4)
    }
}
