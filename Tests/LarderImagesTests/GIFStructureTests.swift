import LarderImages
import Testing

struct GIFStructureTests: ImageTests {
    private let picture: [UInt8] =
        [0x2C, 0, 0, 0, 0] + Bytes.little(7, 2) + Bytes.little(5, 2) + [0, 2, 2, 0x4C, 0x01, 0]

    @Test func theSizeOfAGIFIsRead() throws {
        for version in ["GIF87a", "GIF89a"] {
            let file = screen(version, 9, 8) + picture + [0x3B]
            #expect(try inspect(file) == ImageInfo(mediaType: .gif, width: 9, height: 8))
        }
    }

    @Test func aGIFMayHaveColourTablesExtensionsAndSeveralPictures() throws {
        let local =
            [0x2C, 0, 0, 0, 0, 7, 0, 5, 0, 0x80] + [UInt8](repeating: 9, count: 6)
            + [2, 2, 0x4C, 1, 3, 1, 2, 3, 0]
        let loop = [0x21, 0xFF, 11] + Array("NETSCAPE2.0".utf8) + [3, 1, 0, 0, 0]
        let colours = [UInt8](repeating: 0x3B, count: 3 * 256)
        let file = screen("GIF89a", 9, 8, flags: 0xF7) + colours + loop + local + picture + [0x3B]
        #expect(try inspect(file).isAnimated)
    }

    @Test func aGIFScreenWithoutASizeHasTheSizeOfItsPicture() throws {
        let info = try inspect(screen("GIF89a", 0, 0) + picture + [0x3B])
        #expect(info.width == 7 && info.height == 5)
    }

    @Test func bytesAfterTheTrailerOfAGIFAreIgnored() {
        #expect(fault(screen("GIF89a", 9, 8) + picture + [0x3B, 1, 2, 3]) == nil)
    }

    @Test func onlyTheTrailerOfAGIFMayBeMissing() throws {
        let whole = screen("GIF89a", 9, 8) + picture
        #expect(try inspect(whole).width == 9)
        #expect(fault(whole + picture) == nil)
        let comment: [UInt8] = [0x21, 0xFE, 1, 65, 0]
        #expect(fault(whole + comment) == nil)
        #expect(fault(whole.dropLast())?.code == .truncated)
        #expect(fault(whole + comment.dropLast())?.code == .truncated)
        #expect(fault(screen("GIF89a", 9, 8) + comment)?.code == .truncated)
        // The control block of a second picture exists, but not the picture.
        let control: [UInt8] = [0x21, 0xF9, 4, 0, 5, 0, 0, 0]
        #expect(fault(screen("GIF89a", 9, 8) + control + picture) == nil)
        #expect(fault(whole + control)?.code == .truncated)
    }

    @Test func zerosMayPrecedeTheTrailerOfAGIF() {
        let whole = screen("GIF89a", 9, 8) + picture
        for count in [1, 2, 500] {
            let zeros = [UInt8](repeating: 0, count: count)
            #expect(fault(whole + zeros + [0x3B]) == nil)
            #expect(fault(whole + zeros + picture) == nil)
            // A file whose end was never written can end with zeros.
            #expect(fault(whole + zeros)?.code == .truncated)
        }
    }

    @Test func aTrailerByteInAGIFSubBlockIsNotTheEnd() {
        let comment: [UInt8] = [0x21, 0xFE, 1, 0x3B]
        #expect(fault(screen("GIF89a", 9, 8) + picture + comment)?.code == .truncated)
    }

    @Test func malformedGIFFilesAreRejected() {
        expectDamage(screen("GIF88a", 9, 8) + picture + [0x3B], "version")
        expectDamage(screen("GIF89a", 9, 8) + [0x3B], "no image")
        expectDamage(screen("GIF89a", 9, 8) + picture + [0x77], "0x77")
        expectDamage(screen("GIF89a", 9, 8) + picture.prefix(11) + [0, 0x3B], "empty image")
        expectDamage(
            screen("GIF89a", 9, 8) + picture.prefix(10) + [12, 1, 1, 0, 0x3B], "code size")
        let flat = [0x2C, 0, 0, 0, 0, 7, 0, 0, 0, 0, 2, 1, 1, 0, 0x3B] as [UInt8]
        expectDamage(screen("GIF89a", 0, 0) + flat, "size")
    }

    private func screen(
        _ version: String, _ width: Int, _ height: Int, flags: UInt8 = 0
    ) -> [UInt8] {
        Array(version.utf8) + Bytes.little(width, 2) + Bytes.little(height, 2) + [flags, 0, 0]
    }
}
