import LarderImages
import Testing

struct BMPStructureTests: ImageTests {
    @Test func theSizeIsReadFromEveryKindOfBMPHeader() throws {
        for length in [16, 40, 52, 56, 64, 108, 124] {
            let info = try inspect(bmp(header(length, width: 5, height: 4)))
            #expect(info == ImageInfo(mediaType: .bmp, width: 5, height: 4), "\(length)")
        }
        let core =
            Bytes.little(12, 4) + Bytes.little(5, 2) + Bytes.little(4, 2) + Bytes.little(1, 2)
            + Bytes.little(24, 2)
        #expect(try inspect(bmp(core)) == ImageInfo(mediaType: .bmp, width: 5, height: 4))
    }

    @Test func aBMPMayHaveANegativeHeight() throws {
        #expect(try inspect(bmp(header(40, width: 5, height: -4))).height == 4)
    }

    @Test func aWrongFileLengthInABMPIsIgnored() {
        var file = bmp(header(40, width: 5, height: 4))
        file.replaceSubrange(2..<6, with: Bytes.little(7, 4))
        #expect(fault(file) == nil)
    }

    @Test func runLengthCodesOfABMPAreReadToTheirEnd() {
        for (bits, method) in [(8, 1), (4, 2)] {
            let header = header(40, width: 4, height: 2, bits: bits, method: method)
            let absolute: [UInt8] = bits == 8 ? [0, 3, 0, 1, 9, 0] : [0, 3, 0, 1]
            let runs: [UInt8] = [4, 7, 0, 0] + absolute + [0, 2, 0, 1]
            #expect(fault(bmp(header, pixels: runs + [0, 1])) == nil)
            #expect(fault(bmp(header, pixels: runs))?.code == .truncated)
        }
    }

    @Test func impossibleSizesOfABMPDoNotOverflow() {
        for (width, height) in [(0x7FFF_FFFF, 0x7FFF_FFFF), (0xFFF_FFFF, -0xFFF_FFFF), (0, 1)] {
            #expect(fault(bmp(header(40, width: width, height: height))) != nil)
        }
        let least =
            Bytes.little(40, 4) + Bytes.little(1, 4) + Bytes.little(0x8000_0000, 4)
            + Bytes.little(1, 2)
        #expect(fault(bmp(least + Bytes.little(24, 2) + [UInt8](repeating: 0, count: 24))) != nil)
    }

    @Test func malformedBMPFilesAreRejected() {
        expectDamage(bmp(header(40, width: 5, height: 4, bits: 7)), "7 bits")
        expectDamage(bmp(header(40, width: 5, height: 4, method: 9)), "compression")
        expectDamage(bmp(header(40, width: 5, height: 4), offset: 20), "inside its header")
        #expect(fault(bmp(header(40, width: 5, height: 4), offset: 9_999))?.code == .truncated)
    }

    @Test func textThatBeginsLikeABMPIsNotAnImage() {
        #expect(fault("BM is also how many a text begins.")?.message == "plain text, not an image")
    }

    private func bmp(
        _ header: [UInt8], pixels: [UInt8] = [UInt8](repeating: 0, count: 64), offset: Int? = nil
    ) -> [UInt8] {
        let start = offset ?? 14 + header.count
        return Array("BM".utf8) + Bytes.little(14 + header.count + pixels.count, 4)
            + Bytes.little(0, 4)
            + Bytes.little(start, 4) + header + pixels
    }

    private func header(
        _ length: Int, width: Int, height: Int, bits: Int = 24, method: Int = 0
    ) -> [UInt8] {
        let known =
            Bytes.little(length, 4) + Bytes.little(width, 4) + Bytes.little(height, 4)
            + Bytes.little(1, 2)
            + Bytes.little(bits, 2) + (length > 16 ? Bytes.little(method, 4) : [])
        return known + [UInt8](repeating: 0, count: length - known.count)
    }
}
