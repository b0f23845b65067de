import Foundation
import Testing

@testable import LarderManifest

@Suite struct XMLPlistManifestTests {
    @Test(arguments: [
        "\u{FF}", "\u{E9}x", "\u{C3}", "\u{ED}\u{A0}\u{80}", "\u{F4}\u{90}\u{80}\u{80}",
    ])
    func invalidUTF8InAnXMLPlistDoesNotAffectOtherEntries(bad: String) throws {
        func entry(_ name: String, _ icon: String) -> String {
            "<dict><key>\(name)</key><string>é\(name)</string><key>icon</key>"
                + "<string>https://a.example/\(icon)</string></dict>"
        }
        let text = xmlPlist(
            "<array>" + entry("name", "1") + entry("name", "~") + entry("~", "2")
                + "<dict><key>x</key><string>~</string><key>icon</key><string>https://a.example/3"
                + "</string></dict><string>~</string>" + entry("name", "4") + "</array>")
        let bytes = text.utf8.flatMap { byte in
            // Each scalar represents one byte.
            byte == UInt8(ascii: "~") ? bad.unicodeScalars.map { UInt8($0.value) } : [byte]
        }
        let reading = try readManifest(.bytes(bytes, name: "test"))
        #expect(
            reading.words == [
                "https://a.example/1", "icon-not-a-string", "https://a.example/2",
                "https://a.example/3", "not-a-dictionary", "https://a.example/4",
            ])
        #expect(reading.items.first?.name == "éname")
    }

    /// The window ends at every byte of a character.
    @Test func aWindowMayEndInsideACharacter() throws {
        for filler in 0..<8 {
            let text =
                String(repeating: "x", count: filler) + String(repeating: "aé中🍎", count: 60_000)
            let decoder = TextDecoder(
                ByteWindow(ByteInput(bytes: Array(text.utf8), name: "test"), capacity: 61),
                from: .utf8)
            var bytes: [UInt8] = []
            var piece = [UInt8](repeating: 0, count: 1 + filler)
            while true {
                let count = try piece.withUnsafeMutableBytes { try decoder.read(into: $0) }
                guard count > 0 else { break }
                bytes += piece.prefix(count)
                if bytes.count > 3_000 { piece = [UInt8](repeating: 0, count: 100_000) }
            }
            #expect(bytes == Array(text.utf8))
            #expect(!decoder.hasInvalid)
        }
    }

    @Test func anUnpairedSurrogateDoesNotAffectOtherEntries() throws {
        let text = xmlPlist(
            "<array><dict><key>icon</key><string>https://a.example/~</string></dict>"
                + "<dict><key>icon</key><string>https://a.example/1</string></dict></array>")
        let units = text.utf16.map { $0 == UInt16(UInt8(ascii: "~")) ? 0xD800 : $0 }
        let bytes = ([0xFEFF] + units).flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(
            try readManifest(.bytes(bytes, name: "test")).words
                == ["icon-not-a-string", "https://a.example/1"])
    }

    private static let a = "<dict><key>icon</key><string>https://a.example/a.png</string></dict>"
    private static let url = "https://a.example/a.png"

    @Test(arguments: [
        "<array>\(a)\n\(a)</array>", "<dict><key>apps</key><array>\(a)\(a)</array></dict>",
        """
        <dict><key>x</key><array><dict><key>apps</key><string/></dict></array><key>y</key><false/>
        <key>apps</key><array>\(a)<!-- c -->\(a)</array><key>z</key><data>AA==</data></dict>
        """,
    ])
    func theEntriesOfAnXMLPlistAreRead(content: String) throws {
        let reading = try readManifest(xmlPlist(content))
        #expect(reading.summary == ManifestSummary(format: .xmlPlist, entries: 2))
        #expect(reading.words == [Self.url, Self.url])
    }

    @Test func emptyArraysInAnXMLPlistAreRead() throws {
        #expect(try readManifest(xmlPlist("<array/>")).words.isEmpty)
        #expect(
            try readManifest(xmlPlist("<dict><key>apps</key><array></array></dict>")).words.isEmpty)
    }

    @Test(arguments: [
        ("<dict/>", "the shape of the manifest is unknown"),
        ("<dict><key>things</key><array/></dict>", "the shape of the manifest is unknown"),
        ("<dict><key>apps</key><dict/></dict>", "'apps' is a dictionary, not an array"),
        ("<string>x</string>", "the property list is a <string>; expected an array or dictionary"),
        ("", "the property list is empty"),
    ])
    func anXMLPlistWithoutEntriesIsRefused(content: String, reason: String) throws {
        let error = try #require(try manifestError(xmlPlist(content)))
        #expect(error.code == .notAManifest)
        #expect(error.reason.hasPrefix(reason))
    }

    @Test func otherXMLDocumentsAreRefused() throws {
        let svg = "<?xml version='1.0'?>\n<svg xmlns='http://www.w3.org/2000/svg'/>"
        #expect(
            try manifestError(svg)?.reason
                == "the shape of the manifest is unknown; \(ManifestSuggestion.advice)")
        #expect(try manifestError("<?xml version='1.0'?>\n<rss/>")?.code == .notAManifest)
        let page = "<?xml version='1.0'?><!DOCTYPE html><html><img src='a.png'/></html>"
        #expect(try manifestError(page)?.reason == "the file is an HTML page, not a manifest")
    }

    @Test(arguments: [
        ("<array>\(a)</array><array/>", "the property list has more than one value"),
        ("<array>text</array>", "expected an element, found text"),
        ("<dict><array/></dict>", "expected a <key>, found <array>"),
        ("<array><dict><key>a</key></dict></array>", "the key 'a' has no value"),
        ("<array><foo/></array>", "<foo> is not a property list element"),
        ("<array><string><true/></string></array>", "expected text, found <true>"),
        ("<array><string><b/></string></array>", "<b> is not a property list element"),
        ("<array><integer><true/></integer></array>", "expected text, found <true>"),
        ("<array>&foo;</array>", "Entity 'foo' not defined"),
        ("<dict><key>apps</key><array/><key>apps</key><array/></dict>", "'apps' occurs twice"),
    ])
    func malformedPropertyListsAreRefused(content: String, reason: String) throws {
        let error = try #require(try manifestError(xmlPlist(content)))
        #expect(error.code == .malformed)
        #expect(error.place == .line(4))
        #expect(error.reason == reason)
    }

    @Test(arguments: [
        ("<array>\n\(a)\n", 7), ("<array>\n<dict>\n</array>", 6), ("<array>\n&amp</array>", 5),
        ("<array>\u{1}</array>", 4), ("<array>\n&#xZ;</array>", 5),
    ])
    func xmlThatIsNotWellFormedIsRefused(content: String, line: Int) throws {
        let error = try #require(try manifestError(xmlPlist(content)))
        #expect(error.code == .malformed)
        #expect(error.place == .line(line), "\(error)")
        #expect(!error.reason.contains("\n"))
    }

    @Test func aTruncatedXMLPlistIsRefused() throws {
        let whole = xmlPlist("<array>\(Self.a)</array>")
        for length in stride(from: 1, to: whole.utf8.count - 2, by: 7) {
            #expect(try manifestError(String(whole.utf8.prefix(length)) ?? "") != nil)
        }
    }

    @Test func elementsAfterTheRootAreRefused() throws {
        #expect(try manifestError(xmlPlist("<array/>") + "<array/>")?.code == .malformed)
        #expect(try readManifest(xmlPlist("<array/>") + "<!-- end -->\n").summary?.entries == 0)
    }

    /// Expands to 10^9 characters.
    private static let laughs =
        "<!ENTITY a 'aaaaaaaaaa'>"
        + zip("abcdefgh", "bcdefghi").map { inner, outer in
            "<!ENTITY \(outer) '\(String(repeating: "&\(inner);", count: 10))'>"
        }.joined()

    @Test(arguments: [
        ("<!ENTITY unused 'x'>", ""), ("<!ENTITY x 'y'>", "&x;"),
        ("<!ENTITY % p '<!ELEMENT a ANY>'> %p;", ""),
        ("<!ENTITY x SYSTEM 'file:///etc/hostname'>", ""),
        ("<!ENTITY % x SYSTEM 'file:///etc/hostname'> %x;", ""),
        (laughs, ""), (laughs, "&e;"), (laughs, "&i;"),
    ])
    func entityDeclarationsAreRefused(declarations: String, use: String) throws {
        let text = """
            <?xml version="1.0"?>
            <!DOCTYPE plist [\(declarations)]>
            <plist version="1.0"><array><string>\(use)</string></array></plist>
            """
        #expect(try manifestError(text)?.code == .entityDeclared)
        // Attributes are parsed before the document type can be checked.
        let attribute = "<!DOCTYPE plist [\(declarations)]><plist a='\(use)'><array/></plist>"
        #expect(try manifestError(attribute)?.code == .entityDeclared)
    }

    /// The only known document type is Apple's, which has no declarations here.
    @Test(arguments: [
        "[<!ELEMENT plist ANY>]", "[]", "SYSTEM 'a]>' [ ]", "[<!-- ]> --> %p; ]", "\n[",
    ])
    func documentTypesWithDeclarationsAreRefused(declarations: String) throws {
        let error = try manifestError(
            "<!DOCTYPE plist \(declarations)><plist><array>\(Self.a)</array></plist>")
        #expect(error?.code == .entityDeclared)
        let external = "<!DOCTYPE plist PUBLIC '[' \"]>'\"><plist><array>\(Self.a)</array></plist>"
        #expect(try readManifest(external).words == [Self.url])
    }

    @Test func characterReferencesAndCDATAAreRead() throws {
        let text = xmlPlist(
            """
            <array><dict><key>na<!-- c -->me</key><string>&lt;&#x4E2D;&amp;<![CDATA[<b>&x;]]> </string>
            <key>icon</key><string>https://a.example/?a&amp;b</string></dict></array>
            """)
        let entry = try #require(try readManifest(text).entries.first)
        #expect(entry.name == "<中&<b>&x; ")
        #expect(entry.icon.string == "https://a.example/?a&b")
    }

    @Test func otherSupportedEncodingsAreRead() throws {
        let text =
            "<plist><array><dict><key>name</key><string>é中🍎</string>\(Self.a.dropFirst(6))</array></plist>"
        let header = "<?xml version='1.0' encoding='UTF-16'?>"
        let marks: [(bytes: [UInt8], isBig: Bool)] = [
            ([0xFE, 0xFF], true), ([0xFF, 0xFE], false), ([], false),
        ]
        for (mark, isBig) in marks {
            let units = ((mark.isEmpty ? "<?xml version='1.0'?>" : header) + text).utf16.flatMap {
                isBig ? [UInt8($0 >> 8), UInt8($0 & 0xFF)] : [UInt8($0 & 0xFF), UInt8($0 >> 8)]
            }
            let reading = try readManifest(.bytes(mark + units, name: "test"))
            #expect(reading.items.first?.name == "é中🍎")
        }
        let latin =
            Array(
                "<?xml version='1.0' encoding='ISO-8859-1'?><plist><array><dict><key>name</key><string>"
                    .utf8)
            + [0xE9] + Array("</string></dict></array></plist>".utf8)
        #expect(try readManifest(.bytes(latin, name: "test")).items.first?.name == "é")
        #expect(
            try readManifest("\u{FEFF}\n\n " + xmlPlist("<array>\(Self.a)</array>")).items.first?
                .line == 6)
    }

    /// As text, as a reference, and in every encoding.
    @Test(arguments: [
        "\u{1}", "\u{1F}", "\u{FFFE}", "\u{FFFF}", "&#0;", "&#x1f;", "&#11;", "&#xFFFE;",
        "&#xD800;", "&#1114112;", "<![CDATA[\u{8}]]>",
    ])
    func aForbiddenCharacterDoesNotAffectOtherEntries(bad: String) throws {
        func entry(_ name: String, _ icon: String) -> String {
            "<dict><key>name</key><string>\(name)</string><key>icon</key>"
                + "<string>https://a.example/\(icon)</string></dict>\n"
        }
        let text = xmlPlist(
            "<array>" + entry("a\tb\u{7E}&#9;", "1") + entry("12345678901234\(bad)", "2")
                + entry("c", "x\(bad)y") + "<string>\(bad)</string>" + entry("é", "3") + "</array>")
        let words = [
            "https://a.example/1", "https://a.example/2", "icon-not-a-string", "not-a-dictionary",
            "https://a.example/3",
        ]
        let reading = try readManifest(text)
        #expect(reading.words == words)
        #expect(reading.items.map(\.name) == ["a\tb~\t", nil, "c", nil, "é"])
        #expect(reading.items.map(\.line) == [4, 5, 6, 7, 7])
        let wide = text.utf16.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        #expect(try readManifest(.bytes([0xFE, 0xFF] + wide, name: "test")).words == words)
    }

    /// In names, icons, skipped values, comments and tags, in every encoding.
    @Test(arguments: [
        "<dict><key>name</key><string>a\0</string></dict>", "<dict><key>a\0</key><true/></dict>",
        "<dict><key>icon</key><string>https://a.example/\0</string></dict>", "<!-- \0 -->",
        "<?p \0?>", "<string><![CDATA[\0]]></string>", "<string a='\0'/>", "<string\0/>", "\0",
    ])
    func aNullCharacterIsRefused(bad: String) throws {
        let list = "<array>\(Self.a)\n  \(bad)\(Self.a)</array>"
        let beginning = bad.utf8.prefix { $0 != 0 }.count
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?>"
        for text in [
            "<plist>\(list)</plist>", "<apps>\(list)</apps>", "\(latin)<plist>\(list)</plist>",
            "<plist><dict><key>x</key>\(list)<key>apps</key><array/></dict></plist>",
        ] {
            let error = try #require(try manifestError(text))
            #expect(error.code == .malformed)
            #expect(error.reason == "the character U+0 is not allowed in XML")
            #expect(error.place == .line(2, column: 3 + beginning), "\(error)")
        }
        let wide = "<plist>\(list)</plist>".utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        #expect(
            try manifestError(.bytes([0xFF, 0xFE] + wide, name: "test"))?.reason
                == "the character U+0 is not allowed in XML")
    }

    @Test(arguments: [
        ("<integer>one</integer>", "a malformed integer"),
        ("<integer/>", "a malformed integer"), ("<integer>1.0</integer>", "a malformed integer"),
        ("<integer>99999999999999999999</integer>", "a malformed integer"),
        ("<real>1,5</real>", "a malformed number"), ("<real> </real>", "a malformed number"),
        ("<true>yes</true>", "a malformed boolean"), ("<false>-</false>", "a malformed boolean"),
    ])
    func aMalformedValueDoesNotAffectOtherEntries(value: String, kind: String) throws {
        let reading = try readManifest(
            xmlPlist(
                """
                <array>\(Self.a)<dict><key>icon</key>\(value)</dict>\(value)
                <dict><key>other</key>\(value)<key>priority</key>\(value)<key>icon</key>
                <string>https://b.example/i.png</string></dict></array>
                """))
        #expect(
            reading.words == [
                "https://a.example/a.png", "icon-not-a-string", "not-a-dictionary",
                "https://b.example/i.png",
            ])
        #expect(reading.errors.first?.message == "icon is \(kind), not a string")
        #expect(reading.ignored == ["priority 1 4"])
    }

    /// libxml2 reports this error to the thread, not to the reader.
    @Test func bytesOutsideTheDeclaredEncodingAreRefused() throws {
        let text = xmlPlist(
            "<array><string>\(String(repeating: "中", count: 2000))</string></array>")
        func declared(_ encoding: String) -> String {
            text.replacingOccurrences(
                of: "encoding=\"UTF-8\"", with: "encoding=\"\(encoding)\"")
        }
        for encoding in ["UTF-7", "x-unknown"] {
            let error = try manifestError(declared(encoding))
            #expect(error?.code == .malformed)
            #expect(error?.reason != "not well-formed XML")
        }
        let reading = try readManifest(declared("US-ASCII"))
        #expect(
            reading.errors.map(\.message) == ["expected a dictionary, found invalid text"])
    }

    /// libxml2 keeps only 16 bits of the line of an element.
    @Test func lineNumbersBeyond65535AreCorrect() throws {
        let comment = "<!--" + String(repeating: "\n", count: 70_000) + "-->\n"
        let text = xmlPlist(
            "<array>\n\(Self.a)\(comment)\t\(Self.a)\n<dict>\n</dict>\n\n<true/></array>")
        #expect(try readManifest(text).items.map(\.line) == [5, 70_006, 70_007, 70_010])
    }
}
