import Foundation
import Testing

@testable import LarderManifest

/// Documents that make libxml2 hang or use gigabytes of memory, and valid documents that must still
/// be read.
@Suite(.timeLimit(.minutes(1))) struct XMLFilterTests {
    private static let entry =
        "<dict><key>icon</key><string>https://a.example/a.png</string></dict>"
    private static let url = "https://a.example/a.png"

    /// libxml2 2.9.14 does not return from this document of 600 bytes.
    @Test func nestedParameterEntitiesDoNotHang() throws {
        let entities = (1...10).map { level in
            let inner = String(repeating: "&#37;p\(level - 1);", count: 4)
            return "<!ENTITY % p\(level) \"\(inner)\">"
        }
        let text = """
            <?xml version="1.0"?><!DOCTYPE plist [<!ENTITY % p0 "<!--x-->">\(entities.joined())\
            %p10;]><plist><array/></plist>
            """
        #expect(try manifestError(text)?.code == .entityDeclared)
    }

    /// libxml2 takes quadratic time: 12 s for 800 kB.
    @Test func manyAttributesAreRefused() throws {
        for name in ["a", "xmlns:a"] {
            let attributes = (0..<80_000).map { " \(name)\($0)='1'" }.joined()
            let error = try manifestError(xmlPlist("<array\(attributes)/>"))
            #expect(error?.code == .tooLarge)
            #expect(error?.place == .line(4))
        }
    }

    /// libxml2 keeps every name and compares it with all others: 18 s for 10 MB.
    @Test func unknownElementsAreRefusedInSkippedValues() throws {
        let text = "<dict><key>x</key><array><n0/></array><key>apps</key><array/></dict>"
        let error = try manifestError(xmlPlist(text))
        #expect(error?.reason == "<n0> is not a property list element")
    }

    @Test func attributesAndWhiteSpaceInTagsAreSkipped() throws {
        let text = """
            <plist\n version = "1.0" a='>"/' ><array \t><dict a=">"><key
            >icon</key ><string xml:space='preserve'>\(Self.url)</string\r\n></dict><dict a='/'
            /></array></plist>
            """
        #expect(try readManifest(text).words == [Self.url, "skipped"])
    }

    @Test(arguments: [
        "<array", "<array a='", "<!-- ", "<!-- --", "<![CDATA[ ]]", "<?p ", "<", "</", "<!",
    ])
    func unclosedMarkupIsRefused(ending: String) throws {
        #expect(try manifestError("<plist><array>\(ending)")?.code == .malformed)
        #expect(try manifestError(ending) != nil)
    }

    @Test(arguments: [
        "<array a='<'/>", "<array <", "<>", "</>", "<array//>", "</array/>", "<!ENTITY x 'y'>",
        "<!DOCTYPE plist>", "< array/>", "<array></array a='1'>", "<plist:array/>", "<Array/>",
    ])
    func malformedTagsAreRefused(tag: String) throws {
        #expect(try manifestError("<plist><array>\(tag)</array></plist>")?.code == .malformed)
    }

    @Test func commentsAndInstructionsMayBeAnywhere() throws {
        let noise = [
            "<!---->", "<!-- > -- <x> -->", "<!-->-->", "<?p?>", "<?p <x> ? >?>", "<!--\n--->",
        ]
        for noise in noise {
            let text = """
                <?xml version="1.0"?>\(noise)<!DOCTYPE plist>\(noise)<plist>\(noise)<array>\(noise)<dict>\
                <key>ic\(noise)on</key>\(noise)<string>\(Self.url)\(noise)</string></dict></array>\
                \(noise)</plist>\(noise)
                """
            #expect(try readManifest(text).words == [Self.url], "\(noise)")
        }
    }

    @Test(arguments: [
        ("a<![CDATA[]]>", "a"), ("<![CDATA[]]]>", "]"), ("<![CDATA[]]]]>", "]]"),
        ("<![CDATA[a]]b]>c]]>", "a]]b]>c"), ("<![CDATA[<!--&amp;-->]]>", "<!--&amp;-->"),
        ("a<![CDATA[<]]>b<![CDATA[>]]>", "a<b>"), ("]] &gt;", "]] >"),
    ])
    func cdataSectionsAreText(text: String, name: String) throws {
        let list = xmlPlist(
            "<array><dict><key>name</key><string>\(text)</string></dict></array>")
        #expect(try readManifest(list).items.first?.name == name)
    }

    /// Each section used to be a separate text, and all previous texts were copied for it.
    @Test func manyCDATASectionsAreReadQuickly() throws {
        let sections = String(repeating: "<![CDATA[x]]>", count: 200_000)
        let text = xmlPlist(
            "<array><dict><key>name</key><string>\(sections)</string></dict></array>")
        #expect(try readManifest(text).items.first?.name?.utf8.count == 1024)
    }

    @Test func aBufferMayEndAtAnyByte() throws {
        let text = """
            <?xml version='1.0' encoding='UTF-8'?><!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" ''>
            <plist version='1.0'><!-- a
            --- b --><array><?p > ?><dict a='>'><key>name</key><string>a<![CDATA[]]]b<c]]>&lt;</string>
            <key>icon</key><string>\(Self.url)</string></dict></array></plist>
            """
        for capacity in 1...300 {
            let input = ByteInput(bytes: Array(text.utf8), name: "test")
            var names: [ManifestValue] = []
            _ = try ManifestDocument(
                window: ByteWindow(input, capacity: capacity), limits: .init(),
                recognition: ShapeRecognition(ManifestRules())
            ).readXML { names.append(try $0.content.get().withoutSpans) }
            let entry = ManifestValue.dictionary([
                .init(key: "name", value: .string("a]]]b<c<")),
                .init(key: "icon", value: .string(Self.url)),
            ])
            #expect(names == [entry], "\(capacity)")
        }
    }

    /// The same bytes may be a tag in one encoding and text in another.
    @Test(arguments: ["UTF-7", "IBM037", "SHIFT_JIS", "UTF-32", "utf-16le", "", "x"])
    func unsupportedEncodingsAreRefused(encoding: String) throws {
        let list = "<plist><array>\(Self.entry)</array></plist>"
        let error = try manifestError("<?xml version='1.0' encoding = \"\(encoding)\" ?>" + list)
        #expect(error?.code == .malformed)
        #expect(error?.reason.contains("is not supported; use UTF-8, UTF-16") == true)
        let known = "<?xml version='1.0' encoding='utf-8' standalone='yes'?>" + list
        #expect(try readManifest(known).words == [Self.url])
    }

    @Test(arguments: [[0x00, 0xD8], [0x00, 0xDC], [0x00]] as [[UInt8]])
    func invalidUTF16IsRefused(unit: [UInt8]) throws {
        let units = Array("<plist><array><string>".utf16).flatMap {
            [UInt8($0 & 0xFF), UInt8($0 >> 8)]
        }
        let source = ManifestSource.bytes(units + unit, name: "test")
        #expect(try manifestError(source)?.code == .malformed)
    }

    /// The document is much longer than a buffer.
    @Test func aLongDocumentInUTF16IsReadCompletely() throws {
        let entries = (0..<5000).map {
            "<dict><!-- 🍎 --><key>name</key><string>é中🍎\($0)</string></dict>"
        }
        let units = Array("<plist><array>\(entries.joined())</array></plist>".utf16).flatMap {
            [UInt8($0 >> 8), UInt8($0 & 0xFF)]
        }
        let names = try readManifest(.bytes(units, name: "test")).items.map(\.name)
        #expect(names == (0..<5000).map { "é中🍎\($0)" })
    }
}
