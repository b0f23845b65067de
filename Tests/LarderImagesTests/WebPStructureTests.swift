import LarderImages
import Testing

struct WebPStructureTests: ImageTests {
    private let lossy = Self.lossy(30, 20)
    private let lossless = Self.chunk("VP8L", [0x2F] + Bytes.little(29 | 19 << 14, 4) + [1])
    private let frame = Self.chunk("ANMF", [UInt8](repeating: 0, count: 16) + Self.lossy(3, 2))

    @Test func theSizeOfAWebPIsRead() throws {
        let info = ImageInfo(mediaType: .webp, width: 30, height: 20)
        #expect(try inspect(riff(lossy)) == info)
        #expect(try inspect(riff(lossless)) == info)
        #expect(try inspect(riff(canvas(30, 20) + Self.chunk("ALPH", [1]) + lossy)) == info)
    }

    @Test func anAnimatedWebPHasTheSizeOfItsCanvas() throws {
        let loop = Self.chunk("ANIM", [0, 0, 0, 0, 0, 0])
        let info = try inspect(riff(canvas(90, 80) + loop + frame + frame))
        #expect(info.width == 90 && info.height == 80 && info.isAnimated)
        #expect(try !inspect(riff(canvas(90, 80) + loop + frame)).isAnimated)
    }

    @Test func theStatedLengthOfAWebPIsItsEnd() {
        #expect(fault(riff(lossy) + [1, 2, 3]) == nil)
        let cut = fault(riff(lossy, length: 1000))
        #expect(cut?.code == .truncated)
        #expect(cut?.message == "WebP ends after \(riff(lossy).count) of 1008 bytes")
        #expect(fault(riff(lossy, length: 20))?.code == .damaged)
    }

    @Test func aMissingPaddingByteAtTheEndOfAWebPIsAccepted() {
        let odd = Self.chunk("EXIF", [1])
        #expect(fault(riff(canvas(30, 20) + lossy + odd)) == nil)
        #expect(fault(riff(canvas(30, 20) + lossy + odd.dropLast())) == nil)
    }

    @Test func metadataAfterAWebPPictureMayBeCutShort() {
        let short = Array("EXIF".utf8) + Bytes.little(100, 4) + [1, 2]
        #expect(fault(riff(canvas(30, 20) + lossy + short)) == nil)
        #expect(fault(riff(lossy + [1, 2, 3])) == nil)
        #expect(fault(riff(lossy + Self.chunk("abcd", [1]))) == nil)
        // Pictures and chunks before them may not be cut short.
        let half = Array("ANMF".utf8) + Bytes.little(100, 4) + [1, 2]
        #expect(fault(riff(canvas(90, 80) + frame + half))?.code == .damaged)
        #expect(fault(riff(canvas(30, 20) + short))?.code == .damaged)
        #expect(fault(riff(canvas(30, 20) + lossy + short).dropLast())?.code == .truncated)
    }

    @Test func malformedWebPFilesAreRejected() {
        expectDamage(riff([]), "no image")
        expectDamage(riff(canvas(30, 20)), "no image")
        expectDamage(riff(canvas(30, 21) + lossy), "canvas")
        expectDamage(riff(Self.chunk("EXIF", []) + lossy), "'EXIF'")
        expectDamage(riff(Self.chunk("VP8 ", [1, 0, 0, 0x9D, 1, 0x2A, 1, 0, 1, 0])), "key frame")
        expectDamage(riff(Self.chunk("VP8 ", [0, 0, 0, 0x9D, 1, 0x2B, 1, 0, 1, 0])), "key frame")
        expectDamage(riff(Self.chunk("VP8 ", [0, 0, 0, 0x9D, 1, 0x2A, 0, 0, 1, 0])), "size")
        expectDamage(riff(Self.chunk("VP8 ", [0, 1, 0, 0x9D, 1, 0x2A, 1, 0, 1, 0])), "truncated")
        expectDamage(riff(Self.chunk("VP8L", [0x2E, 0, 0, 0, 0])), "signature")
        expectDamage(riff(Self.chunk("VP8L", [0x2F, 0, 0, 0, 0x20])), "version")
        expectDamage(
            riff(canvas(9, 9) + Self.chunk("ANMF", [UInt8](repeating: 0, count: 16))),
            "without an image")
    }

    private func riff(_ chunks: [UInt8], length: Int? = nil) -> [UInt8] {
        Array("RIFF".utf8) + Bytes.little(length ?? chunks.count + 4, 4) + Array("WEBP".utf8)
            + chunks
    }

    private func canvas(_ width: Int, _ height: Int) -> [UInt8] {
        Self.chunk("VP8X", [0, 0, 0, 0] + Bytes.little(width - 1, 3) + Bytes.little(height - 1, 3))
    }

    private static func lossy(_ width: Int, _ height: Int) -> [UInt8] {
        chunk(
            "VP8 ",
            [0x50, 0, 0, 0x9D, 1, 0x2A] + Bytes.little(width, 2) + Bytes.little(height, 2) + [1, 2])
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        Array(type.utf8) + Bytes.little(content.count, 4) + content
            + [UInt8](repeating: 0, count: content.count % 2)
    }
}
