import LarderImages
import LarderTestSupport
import Testing

struct ICOStructureTests: ImageTests {
    private let png = IconPainter.png(seed: 1, size: 24)

    @Test func theSizeOfAnICOIsThatOfItsLargestPicture() throws {
        let info = ImageInfo(mediaType: .ico, width: 24, height: 24)
        #expect(try inspect(ico([bitmap(16), png, bitmap(8)])) == info)
        #expect(try inspect(ico([bitmap(300)])).width == 300)
    }

    @Test func aBitmapInAnICOMayLackItsMask() throws {
        #expect(try inspect(ico([bitmap(16, mask: false)])).height == 16)
        #expect(fault(ico([bitmap(16, mask: false).dropLast()]))?.code == .damaged)
    }

    @Test func colourTablesOfBitmapsInAnICOAreRead() {
        let pixels = [UInt8](repeating: 0, count: 16 * 4 + 4 * 16)
        let header = BitmapHeader.bytes(width: 8, height: 16, bits: 4)
        #expect(fault(ico([header + pixels])) == nil)
        #expect(fault(ico([header + pixels.prefix(64)]))?.code == .damaged)
    }

    @Test func aPictureBeyondTheEndOfAnICOIsAnError() {
        #expect(fault(ico([png]).dropLast())?.code == .truncated)
        #expect(fault([0, 0, 1, 0, 200, 0] + [UInt8](repeating: 0, count: 16))?.code == .damaged)
    }

    @Test func aDamagedPNGInAnICOIsNamed() {
        var damaged = png
        damaged[60] ^= 1
        let fault = fault(ico([bitmap(16), damaged]))
        #expect(fault?.code == .damaged && fault?.mediaType == .ico)
        #expect(fault?.message.contains("damaged image: PNG") == true)
    }

    @Test func malformedICOFilesAreRejected() {
        #expect(fault([0, 0, 1, 0, 0, 0])?.code == .damaged)
        #expect(fault(ico([Array("neither a bitmap nor a PNG".utf8)]))?.code == .damaged)
        var inside = ico([png])
        inside.replaceSubrange(18..<22, with: Bytes.little(4, 4))
        #expect(fault(inside)?.message == "ICO has an image inside its directory")
    }

    @Test func entriesOfAnICOMayShareAPicture() throws {
        #expect(try inspect(shared(png, lengths: [png.count, png.count])).width == 24)
        let lengths = Array(repeating: bitmap(16).count, count: 9) + [bitmap(16, mask: false).count]
        #expect(try inspect(shared(bitmap(16), lengths: lengths)).width == 16)
        // A picture that one of its entries cuts short is damaged.
        #expect(fault(shared(png, lengths: [png.count, png.count - 20]))?.code == .damaged)
        let cut = shared(png, lengths: [png.count, png.count]).dropLast()
        #expect(fault(Array(cut))?.code == .truncated)
    }

    @Test func sharedPicturesInAnICOCannotCauseQuadraticWork() {
        let padded = png + [UInt8](repeating: 0, count: 50)
        let file = shared(padded, lengths: (0..<50).map { png.count + $0 })
        #expect(fault(file)?.message == "ICO has overlapping images")
    }

    /// Returns a file with one picture and an entry for each of its stated lengths.
    private func shared(_ picture: [UInt8], lengths: [Int]) -> [UInt8] {
        let offset = Bytes.little(6 + 16 * lengths.count, 4)
        return [0, 0, 1, 0] + Bytes.little(lengths.count, 2)
            + lengths.flatMap { [0, 0, 0, 0, 1, 0, 32, 0] + Bytes.little($0, 4) + offset } + picture
    }

    @Test func cursorsAreNotIcons() {
        var cursor = ico([png])
        cursor[2] = 2
        #expect(fault(cursor)?.message == "a Windows cursor, not an image")
    }

    private func ico(_ pictures: [[UInt8]]) -> [UInt8] {
        var directory = [0, 0, 1, 0] + Bytes.little(pictures.count, 2)
        var offset = 6 + 16 * pictures.count
        for picture in pictures {
            directory +=
                [0, 0, 0, 0, 1, 0, 32, 0] + Bytes.little(picture.count, 4) + Bytes.little(offset, 4)
            offset += picture.count
        }
        return directory + pictures.flatMap { $0 }
    }

    private func bitmap(_ size: Int, mask: Bool = true) -> [UInt8] {
        let pixels = size * size * 4 + (mask ? (size + 31) / 32 * 4 * size : 0)
        return BitmapHeader.bytes(width: size, height: size * 2, bits: 32)
            + [UInt8](repeating: 0, count: pixels)
    }

    private enum BitmapHeader {
        static func bytes(width: Int, height: Int, bits: Int) -> [UInt8] {
            Bytes.little(40, 4) + Bytes.little(width, 4) + Bytes.little(height, 4)
                + Bytes.little(1, 2) + Bytes.little(bits, 2)
                + [UInt8](repeating: 0, count: 24)
        }
    }
}
