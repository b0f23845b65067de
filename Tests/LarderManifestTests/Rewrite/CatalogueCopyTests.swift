import Foundation
import LarderTestSupport
import Testing

@testable import LarderManifest

/// Copies of manifests with other icon values.
@Suite struct CatalogueCopyTests {
    /// Copies a document whose icons are marked: `«` and `»` enclose each token.
    static func copy(
        _ marked: String, as format: ManifestFormat, _ values: [String]
    ) throws -> String {
        var (text, edits) = ([UInt8](), [CatalogueEdit]())
        var start = 0
        for scalar in marked.unicodeScalars {
            switch scalar {
            case "«": start = text.count
            case "»":
                edits.append(
                    CatalogueEdit(
                        span: start..<text.count, number: Int64(edits.count),
                        text: values[edits.count % values.count]))
            default: text += Array(String(scalar).utf8)
            }
        }
        return String(decoding: try copy(text, as: format, edits).bytes, as: UTF8.self)
    }

    static func copy(
        _ bytes: [UInt8], as format: ManifestFormat, _ edits: [CatalogueEdit]
    ) throws -> (bytes: [UInt8], remaining: Int) {
        var rest = edits[...]
        var output: [UInt8] = []
        let catalogue = try Catalogue(.bytes(bytes, name: "test"))
        let remaining = try withoutActuallyEscaping({ (part: UnsafeRawBufferPointer) throws in
            output += part
        }) { try catalogue.copy(as: format, replacing: { rest.popFirst() }, to: $0) }
        return (output, remaining)
    }

    /// In UTF-16, a value has two bytes for each character.
    @Test(arguments: [false, true], ["\u{FEFF}", ""])
    func aCopyInUTF16HasTheSameText(isBigEndian: Bool, mark: String) throws {
        func bytes(_ text: String) -> [UInt8] {
            text.utf16.flatMap { unit in
                let pair = [UInt8(unit >> 8), UInt8(unit & 0xFF)]
                return isBigEndian ? pair : pair.reversed()
            }
        }
        func text(_ icon: String, _ source: String) -> String {
            "\(mark)<components><!-- 🍎 é --><component><icon type='remote'>\(icon)</icon>"
                + "<screenshot src = '\(source)'/></component></components>"
        }
        let file = bytes(text("https://a.example/é.png", "https://a.example/2.png"))
        var rules = ManifestRules()
        rules.iconKeys = ["icon", "screenshot/@src"]
        var edits: [CatalogueEdit] = []
        _ = try ManifestReader(source: .bytes(file, name: "test"), rules: rules).read { item in
            let span = try #require(item.value).span
            edits.append(CatalogueEdit(span: span, number: Int64(edits.count), text: Self.file))
        }
        let copy = try Self.copy(file, as: .xml, [edits[0]])
        #expect(copy.bytes == bytes(text(Self.file, "https://a.example/2.png")))
        #expect(copy.remaining == 1)
        #expect(try Self.copy(file, as: .xml, edits).bytes == bytes(text(Self.file, Self.file)))
    }

    private static let file = "icons/a-12345678.png"
    private static let served = "http://[::1]:8080/icon?url=https://a.example/1.png%3Fv"
    private static let data = "data:image/png;base64,iVBO+/w=="

    @Test(arguments: [
        ("icon: «https://a.example/1» # c\n", "icon: icons/a-12345678.png # c\n"),
        ("icon: «'https://a.example/1'»\n", "icon: 'icons/a-12345678.png'\n"),
        ("icon: «\"https:\\x2f/a\"»\n", "icon: \"icons/a-12345678.png\"\n"),
        ("icon: «|-\n  https://a»\n\nb: 1\n", "icon: icons/a-12345678.png\n\nb: 1\n"),
        ("icon: &a !!str «https://a»\n", "icon: &a !!str icons/a-12345678.png\n"),
        ("- {icon: «https://a», b: 1}\n", "- {icon: icons/a-12345678.png, b: 1}\n"),
        ("icon: «https://a.example\n  /b»\r\nb: 1", "icon: icons/a-12345678.png\r\nb: 1"),
    ])
    func aYAMLValueKeepsItsStyle(_ marked: String, _ expected: String) throws {
        #expect(try Self.copy(marked, as: .yaml, [Self.file]) == expected)
    }

    @Test(arguments: [
        ("icon: «https://a»\n", "icon: \"\(served)\"\n"),
        ("{icon: «https://a» # ]\n , b: 1}", "{icon: \"\(served)\" # ]\n , b: 1}"),
        ("- &a «b»\n- «*a»\n", "- &a \"\(served)\"\n- \"\(served)\"\n"),
        ("icon: «>- # the logo\n  a»\nb: 1\n", "icon: \"\(served)\" # the logo\nb: 1\n"),
    ])
    func aValueThatIsNotSafeInAllStylesIsQuoted(_ marked: String, _ expected: String) throws {
        #expect(try Self.copy(marked, as: .yaml, [Self.served]) == expected)
    }

    @Test(arguments: [
        "1-2.5", "~/a.png", "%20/a.png", "-a.png", "true", "a: b/c.png", "a.png ", "@a.png",
        "*a.png",
    ])
    func aValueWithAnotherMeaningInYAMLIsQuoted(_ value: String) throws {
        #expect(try Self.copy("a: «b»\n", as: .yaml, [value]) == "a: \"\(value)\"\n")
    }

    @Test func anAliasBecomesItsNewValue() throws {
        let values = ["x/1.png", "x/2.png"]
        #expect(
            try Self.copy("- &a «b»\n- «*a»\n", as: .yaml, values) == "- &a x/1.png\n- x/2.png\n")
        let tagged = "- &a !<t&b> # c &d\n  «b»\n- «*a»\n"
        #expect(
            try Self.copy(tagged, as: .yaml, values)
                == "- &a !<t&b> # c &d\n  x/1.png\n- x/2.png\n")
        let other = "- &a «b»\n- &a c\n- «*a»\n"
        #expect(try Self.copy(other, as: .yaml, values) == "- &a x/1.png\n- &a c\n- x/2.png\n")
        #expect(try Self.copy("- &a b\n- «*a»\n", as: .yaml, values) == "- &a b\n- x/1.png\n")
    }

    @Test(arguments: [
        ("<i>«https://a?b&amp;c»</i>", "<i>x?a&#38;b</i>"),
        ("<i>«<![CDATA[https://a]]>»</i>", "<i>x?a&#38;b</i>"),
        ("<i h = «'https://a'»/>", "<i h = 'x?a&#38;b'/>"),
        ("<i>«\"https://a\"»</i>", "<i>x?a&#38;b</i>"),
        ("<i h=\"«https://a»\"/>", "<i h=\"x?a&#38;b\"/>"),
    ])
    func aValueIsEscapedInXML(_ marked: String, _ expected: String) throws {
        #expect(try Self.copy(marked, as: .xml, ["x?a&b"]) == expected)
    }

    @Test func aGzipFileStaysOneAndHasTheSameBytesEachTime() throws {
        let text = Array("[{\"icon\":\"https://a.example/1\"}]".utf8)
        let edit = CatalogueEdit(span: 9..<30, number: 0, text: Self.data)
        let plain = try Self.copy(text, as: .json, [edit]).bytes
        #expect(plain == Array("[{\"icon\":\"\(Self.data)\"}]".utf8))
        let packed = try pack(text)
        let copies = try (0..<2).map { _ in try Self.copy(packed, as: .json, [edit]).bytes }
        #expect(copies[0] == copies[1])
        #expect(copies[0].starts(with: [0x1F, 0x8B, 8, 0, 0, 0, 0, 0]))
        #expect(try unpack(copies[0]) == plain)
    }

    private func pack(_ bytes: [UInt8]) throws -> [UInt8] {
        var packed: [UInt8] = []
        let deflater = try Deflater()
        try bytes.withUnsafeBytes { try deflater.add($0) { packed += $0 } }
        try deflater.finish { packed += $0 }
        return packed
    }

    private func unpack(_ bytes: [UInt8]) throws -> [UInt8] {
        let window = ByteWindow(ByteInput(bytes: bytes, name: "test"))
        _ = try window.peek()
        let input = try ByteInput(unpacking: window, limits: ManifestLimits())
        var unpacked: [UInt8] = []
        var room = [UInt8](repeating: 0, count: 4096)
        while case let count = try room.withUnsafeMutableBytes({ try input.read(into: $0) }),
            count > 0
        { unpacked += room.prefix(count) }
        return unpacked
    }

    /// Spans that repeat or overlap cannot come from the reader.
    @Test func overlappingSpansAreReplacedOnce() throws {
        let edits = [2..<5, 2..<5, 3..<8, 8..<9].enumerated().map {
            CatalogueEdit(span: $1, number: Int64($0), text: "\($0)")
        }
        let copy = try Self.copy(Array("0123456789".utf8), as: .urlList, edits)
        #expect(String(decoding: copy.bytes, as: UTF8.self) == "010567" + "39")
    }

    @Test func aFileThatIsTooShortForASpanIsRefused() throws {
        let edit = CatalogueEdit(span: 5..<50, number: 0, text: "a")
        #expect(throws: ManifestError.self) {
            try Self.copy(Array("0123456789".utf8), as: .urlList, [edit])
        }
    }

    @Test(arguments: [
        ("icon: https://a.example/b.png?v=1", 1),
        ("see https://a.example/b.html, HTTP://A.example/b.SVG.", 1),
        (#"{"a":"https:\/\/a.example\/b.jpg"}"#, 1),
        ("![a](https://a.example/b) [a](https://a.example/c)", 1),
        ("[![badge](https://a.example/b)](https://a.example/c)", 1),
        (#"<img alt="x" src="https://a.example/b"> <a href="https://a.example/c">"#, 1),
        (#"&lt;img src=&quot;https://a.example/b&quot;&gt; https://a.example/c"#, 1),
        (#"\u003cimg src=\"https://a.example/b\"\u003e https://a.example/c"#, 1),
        (#"<IMG SRCSET='https://a.example/b 1x, https://a.example/c 2x' src='d.png'>"#, 2),
        (#"{"a":"https://a.example/\u00e9/b.png\u003fa=1\u0026b=2"}"#, 1),
        (#"a: "https://a.example/\xE9.png\x22 https://a.example/b\u003c.png""#, 1),
        (#"a: "https://a.example/\U0001F34E.png \U0001F34" https://a.example/\U0001F34.png"#, 1),
        (#"{"a": "\u0068ttp:\/\u002fa.example/b\u002ESVG"} \\u0068ttp://a.example/b.png"#, 1),
        (#"{"a": "b\nhttps://a.example/b.png\r\nhttps://a.example/c.png\thttp://d.example"}"#, 2),
        (#"<a h="https://a.example/b&#46;png"/> <a>&#x68;ttps:&#47;/a.example/b.gif</a>"#, 2),
        (#"\\u003cimg src='https://a.example/b'> &lt;a href='https://a.example/c?a&amp;b.png'"#, 0),
        (#"[![a][B]](https://a.example/c)\n[b]: <https://a.example/b>\n[c]: https://d.example"#, 1),
        ("[r]: https://a.example/b\n![r][], ![r] and [t][q]\n[q]: https://a.example/c", 1),
        ("[r]: https://a.example/b\n![a](x) ![[a] [r] !\n[a]: https://a.example/c", 0),
        (#"{"css":"{background:URL( \"https://a.example/b\")} {url(x)} https://a.example/c"}"#, 1),
        ("@import url(https://a.example/b); src: url('https://a.example/c.woff2?d')", 0),
        ("http://h/icon?url=https://a.example/b.png", 0),
        ("ahttps://a.example/b.png http:/a.png https:a.png", 0),
    ])
    func remainingImagesAreCounted(_ text: String, _ count: Int) throws {
        #expect(try Self.copy(Array(text.utf8), as: .urlList, []).remaining == count)
        // The search must not depend on the pieces that are read.
        let padding = String(repeating: "x ", count: (64 << 10) / 2 - text.utf8.count / 2)
        #expect(try Self.copy(Array((padding + text).utf8), as: .urlList, []).remaining == count)
    }

    @Test func remainingImagesAreCountedInLongText() throws {
        // The text has several times the length that is searched at once.
        let text = String(repeating: "https://a.example/b&#46;png ", count: 10_000)
        #expect(try Self.copy(Array(text.utf8), as: .urlList, []).remaining == 10_000)
    }
}
