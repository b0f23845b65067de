import LarderImages
import LarderTestSupport
import Testing

struct HEIFStructureTests: ImageTests {
    @Test func theSizeAndFormatOfAHEIFFileAreRead() throws {
        let info = ImageInfo(mediaType: .avif, width: 30, height: 20)
        #expect(try inspect(HEIFFile().bytes) == info)
        let heic = HEIFFile(brands: ["heic", "mif1"], coding: "hvc1")
        #expect(try inspect(heic.bytes).mediaType == .heic)
    }

    @Test func theItemsOfAHEIFFileDecideIfTheBrandsDoNot() throws {
        #expect(try inspect(HEIFFile(brands: ["mif1", "miaf"]).bytes).mediaType == .avif)
        let other = HEIFFile(brands: ["mif1"], coding: "avc1")
        #expect(fault(other.bytes)?.code == .notAnImage)
        #expect(fault(other.bytes)?.message == "a HEIF file coded as 'avc1', not an image")
    }

    @Test func theBrandOfAHEIFFileMayBeACompatibleBrand() throws {
        #expect(try inspect(HEIFFile(brands: ["xxxx", "yyyy", "avif"]).bytes).mediaType == .avif)
    }

    @Test func aRotatedHEIFPictureHasItsDisplayedSize() throws {
        let info = try inspect(HEIFFile(turn: 1).bytes)
        #expect(info.width == 20 && info.height == 30)
        #expect(try inspect(HEIFFile(turn: 2).bytes).width == 30)
    }

    @Test func longAndOpenEndedHEIFBoxesAreRead() {
        var file = HEIFFile()
        file.data = Bytes.big(1, 4) + Array("mdat".utf8) + Bytes.big(16 + 8, 8) + [UInt8](1...8)
        #expect(fault(file.bytes) == nil)
        file.data = Bytes.big(0, 4) + Array("mdat".utf8) + [UInt8](1...16)
        #expect(fault(file.bytes) == nil)
    }

    @Test func bytesAfterTheHEIFBoxesAreIgnored() throws {
        let junk = [
            [1, 2, 3], Bytes.big(3, 4) + Bytes.big(0, 4), Array("<!-- served by -->".utf8),
        ]
        for junk in junk {
            #expect(fault(HEIFFile().bytes + junk) == nil)
            // The frames of a sequence can be anywhere in the file.
            let film = HEIFFile(data: HEIFFile.box("mdat", [1]) + HEIFFile.box("moov", []))
            #expect(try inspect(film.bytes).isAnimated)
            #expect(fault(film.bytes + junk) != nil)
        }
        #expect(fault(HEIFFile().bytes + Bytes.big(90, 4) + Array("free".utf8)) == nil)
        #expect(fault(HEIFFile().bytes + Bytes.big(90, 4) + Array("mdat".utf8)) != nil)
        #expect(fault(HEIFFile().bytes + HEIFFile.box("zzzz", [1])) == nil)
    }

    @Test func onlyHEIFMetadataMayExtendBeyondTheEnd() {
        let end = HEIFFile().bytes.count
        func file(_ type: String, count: Int = 1) -> HEIFFile {
            var file = HEIFFile(extent: (end - 8, 8))
            file.others = (2..<2 + count).map { ($0, type, (end, 1000)) }
            return file
        }
        #expect(fault(file("Exif").bytes) == nil)
        #expect(fault(file("mime").bytes) == nil)
        #expect(fault(file("av01").bytes)?.code == .truncated)
        // The number is limited because looking up many would take quadratic time.
        #expect(fault(file("Exif", count: 17).bytes)?.code == .truncated)
    }

    @Test func aHEIFPictureBeyondTheEndIsTruncated() {
        let end = HEIFFile().bytes.count
        #expect(fault(HEIFFile(extent: (end - 8, 8)).bytes) == nil)
        #expect(fault(HEIFFile(extent: (end - 8, 9)).bytes)?.code == .truncated)
        #expect(fault(HEIFFile(extent: (0, 100_000)).bytes)?.code == .truncated)
        #expect(fault(HEIFFile(extent: (0xFFFF_FFFF, 1)).bytes)?.code == .truncated)
        #expect(fault(HEIFFile(extent: (0xFFFF_FFFF, 0xFFFF_FFFF)).bytes)?.code == .truncated)
    }

    /// Each of the 20,000 items has 65,535 extents that take no bytes. That is 1.3 billion extents.
    @Test(.timeLimit(.minutes(1))) func emptyHEIFExtentsAreNotIterated() throws {
        let item = Bytes.big(1, 2) + Bytes.big(0, 2) + Bytes.big(0xFFFF, 2)
        var file = HEIFFile()
        file.locations =
            Bytes.big(0, 2) + Bytes.big(20_000, 2)
            + Array(repeatElement(item, count: 20_000).joined())
        #expect(try inspect(file.bytes).width == 30)
    }

    @Test func malformedHEIFFilesAreRejected() {
        expectDamage(HEIFFile(meta: false, data: HEIFFile.box("moov", [])), "no meta box")
        expectDamage(HEIFFile(primary: 2), "no location")
        expectDamage(HEIFFile(size: nil), "no image size")
        expectDamage(HEIFFile(size: (0, 20)), "no image size")
        expectDamage(HEIFFile(coding: "Exif"), "no coded image")
    }

    @Test func videosAreNotHEIFImages() {
        let film = HEIFFile(brands: ["isom", "mp42"])
        #expect(fault(film.bytes)?.message == "an MP4 or QuickTime file, not an image")
    }

    private func expectDamage(
        _ file: HEIFFile, _ word: String, at place: SourceLocation = #_sourceLocation
    ) {
        expectDamage(file.bytes, word, at: place)
    }
}

/// A minimal HEIF file with one item.
private struct HEIFFile {
    var brands = ["avif", "mif1"]
    var coding = "av01"
    var size: (width: Int, height: Int)? = (30, 20)
    var turn: UInt8 = 0
    var primary = 1
    var extent: (offset: Int, length: Int) = (40, 8)
    /// Additional items, with one extent each.
    var others: [(item: Int, type: String, extent: (offset: Int, length: Int))] = []
    /// The content of the `iloc` box that replaces the extents.
    var locations: [UInt8]?
    var meta = true
    var data = HEIFFile.box("mdat", [UInt8](1...8))

    var bytes: [UInt8] {
        let types = brands.map { Array($0.utf8) }
        let type = Self.box("ftyp", types[0] + Bytes.big(0, 4) + types.dropFirst().flatMap { $0 })
        return type + (meta ? metaBox : []) + data
    }

    private var metaBox: [UInt8] {
        let items = [(item: 1, type: coding, extent: extent)] + others
        let item = items.flatMap { item in
            Self.box(
                "infe",
                Bytes.big(2 << 24, 4) + Bytes.big(item.item, 2) + Bytes.big(0, 2)
                    + Array(item.type.utf8))
        }
        let location =
            Bytes.big(0x4400, 2) + Bytes.big(items.count, 2)
            + items.flatMap {
                Bytes.big($0.item, 2) + Bytes.big(0, 2) + Bytes.big(1, 2)
                    + Bytes.big($0.extent.offset, 4) + Bytes.big($0.extent.length, 4)
            }
        let measured = size.map {
            Self.box("ispe", Bytes.big(0, 4) + Bytes.big($0.width, 4) + Bytes.big($0.height, 4))
        }
        // The second property belongs to no item, so its size must not be used.
        let properties =
            (measured ?? Self.box("free", []))
            + Self.box("ispe", Bytes.big(0, 4) + Bytes.big(999, 4) + Bytes.big(999, 4))
            + Self.box("irot", [turn])
        let association = Bytes.big(0, 4) + Bytes.big(2, 4) + [0, 9, 1, 2] + [0, 1, 2, 0x81, 3]
        return Self.box(
            "meta",
            Bytes.big(0, 4) + Self.box("pitm", Bytes.big(0, 4) + Bytes.big(primary, 2))
                + Self.box("iinf", Bytes.big(0, 4) + Bytes.big(items.count, 2) + item)
                + Self.box("iloc", Bytes.big(0, 4) + (locations ?? location))
                + Self.box("iprp", Self.box("ipco", properties) + Self.box("ipma", association)))
    }

    static func box(_ type: String, _ content: [UInt8]) -> [UInt8] {
        Bytes.big(content.count + 8, 4) + Array(type.utf8) + content
    }
}
