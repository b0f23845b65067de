import Foundation
import LarderImages
import Testing

struct SVGStructureTests: ImageTests {
    private static let namespace = "xmlns=\"http://www.w3.org/2000/svg\""

    @Test(arguments: [
        ("width='30' height='20'", 30, 20), ("width=' 30px ' height='2e1'", 30, 20),
        ("width='29.6' height='20.4px' viewBox='0 0 1 1'", 30, 20),
        ("viewBox='-5 -5 30 20'", 30, 20),
        ("viewBox='0,0,30,20'", 30, 20), ("width='100%' height='100%' viewBox='0 0 30 20'", 30, 20),
        ("width='3cm' height='2cm' viewBox='0 0 30 20'", 30, 20), ("width='.2' height='.2'", 1, 1),
    ])
    func theSizeOfAnSVGIsRead(attributes: String, width: Int, height: Int) throws {
        let info = try inspect("<svg \(Self.namespace) \(attributes)/>")
        #expect(info == ImageInfo(mediaType: .svg, width: width, height: height))
    }

    @Test(arguments: [
        "", "width='30'", "width='nan' height='inf'", "width='0x10' height='0x10'",
        "width='1e300' height='1e300'", "width='0' height='-4'", "viewBox='0 0 30'",
        "width='100%' height='2em'", "viewBox='a b c d'",
    ])
    func anSVGWithoutAUsableSizeHasNoSize(attributes: String) throws {
        let info = try inspect("<svg \(Self.namespace) \(attributes)/>")
        #expect(info == ImageInfo(mediaType: .svg))
    }

    @Test func everyTextEncodingOfAnSVGIsRead() throws {
        let text =
            "<?xml version='1.0'?>\n<!-- é -->\n<svg \(Self.namespace) width='3' height='2'/>"
        let latin = text.replacingOccurrences(of: "?>", with: " encoding='ISO-8859-1'?>")
        let info = ImageInfo(mediaType: .svg, width: 3, height: 2)
        #expect(try inspect(text) == info)
        #expect(try inspect("\u{FEFF}" + text) == info)
        #expect(
            try inspect([0xFF, 0xFE] + text.utf16.flatMap { Bytes.little(Int($0), 2) }) == info)
        #expect(try inspect([0xFE, 0xFF] + text.utf16.flatMap { Bytes.big(Int($0), 2) }) == info)
        #expect(try inspect(latin.unicodeScalars.map { UInt8($0.value) }) == info)
    }

    @Test func theNamespaceOfTheSVGRootIsChecked() throws {
        #expect(fault("<svg/>") == nil)
        #expect(fault("<s:svg xmlns:s='http://www.w3.org/2000/svg'></s:svg>") == nil)
        #expect(fault("<svg xmlns='urn:other'/>")?.code == .notAnImage)
        #expect(fault("<s:svg xmlns:s='urn:other'/>")?.code == .notAnImage)
        #expect(fault("<g \(Self.namespace)><svg/></g>")?.code == .notAnImage)
    }

    @Test func svgEntitiesOfDrawingProgramsAreAccepted() throws {
        let info = try inspect(
            """
            <!DOCTYPE svg PUBLIC "-//W3C//DTD SVG 1.1//EN" "http://127.0.0.1:1/svg11.dtd" [
                <!ENTITY ns_svg "http://www.w3.org/2000/svg">
                <!ENTITY label "<g>text</g>">
            ]>
            <svg xmlns="&ns_svg;" width="3" height="2"><text>&label;</text></svg>
            """)
        #expect(info == ImageInfo(mediaType: .svg, width: 3, height: 2))
    }

    @Test func externalEntitiesOfAnSVGAreNotLoaded() throws {
        let file = FileManager.default.temporaryDirectory
            .appendingPathComponent("\(UUID().uuidString).xml")
        // Loading this file would be an error.
        try Data("<unclosed".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        for declaration in [
            "<!ENTITY other SYSTEM '\(file.absoluteString)'>",
            "<!ENTITY % p SYSTEM '\(file.absoluteString)'> %p; <!ENTITY other 'x'>",
        ] {
            #expect(fault("<!DOCTYPE svg [\(declaration)]><svg>&other;</svg>") == nil)
        }
        #expect(fault("<!DOCTYPE svg SYSTEM '\(file.absoluteString)'><svg/>") == nil)
    }

    /// Each of these took more than ten seconds when compared as Unicode text.
    @Test(arguments: [
        "<svg width='$' height='$'/>", "<svg viewBox='$ $ $ $'/>", "<svg xmlns='$'/>",
        "<svg $='1'/>",
        "<$/>", "<?xml version='1.0' encoding='$'?><svg/>", "<svg>&$;</svg>", "<?$?><svg/>",
        "<!DOCTYPE $><svg>&$;</svg>", "<html><!-- $ --></html>", "$",
    ])
    func combiningMarksInAnSVGDoNotSlowTheReader(document: String) {
        let marks = "e" + String(repeating: "\u{301}\u{323}", count: 20_000)
        let start = ContinuousClock.now
        _ = fault(document.replacingOccurrences(of: "$", with: marks))
        #expect(ContinuousClock.now - start < .seconds(2))
    }

    @Test func svgAttributesHaveASizeLimit() throws {
        func drawing(_ count: Int) -> String {
            "<svg><path d='\(String(repeating: "1", count: count))'/></svg>"
        }
        #expect(fault(drawing(10_000_000)) == nil)
        #expect(fault(drawing(10_000_001))?.code == .damaged)
        // The root's attributes are read up to a limit, and a longer size is ignored.
        let blanks = String(repeating: " ", count: 1023)
        #expect(try inspect("<svg width='\(blanks)3' height='2'/>").width == 3)
        #expect(try inspect("<svg width=' \(blanks)3' height='2'/>").width == nil)
    }

    @Test func anSVGInUTF16HasItsOwnSizeLimit() throws {
        func drawing(_ count: Int) -> [UInt8] {
            let text = "<svg>" + String(repeating: " ", count: count / 2 - 12) + "</svg>"
            return [0xFF, 0xFE] + Array(text.data(using: .utf16LittleEndian) ?? Data())
        }
        #expect(drawing(2 << 20).count == 2 << 20)
        #expect(fault(drawing(2 << 20)) == nil)
        #expect(fault(drawing(2 << 20 + 2))?.code == .damaged)
        #expect(fault(drawing(4 << 20))?.code == .damaged)
    }

    @Test func markupOtherThanSVGIsNamed() {
        #expect(
            fault("<rss version='2.0'></rss>")?.message == "an XML document (rss), not an image")
        #expect(fault("<html><svg/></html>")?.message == "an HTML page, not an image")
        #expect(fault("<!doctype html><p>a<svg></svg>")?.message == "an HTML page, not an image")
    }
}
