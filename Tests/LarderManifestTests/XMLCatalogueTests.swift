import Foundation
import Testing

@testable import LarderManifest

/// XML documents that are not property lists: names, attributes, and the bytes of values.
@Suite(.timeLimit(.minutes(30))) struct XMLCatalogueTests {
    private static let url = "https://a.example/a.png"

    private func rules(_ entries: String?, _ icons: String..., name: String? = nil) throws
        -> ManifestRules
    {
        var rules = ManifestRules()
        rules.entries = try entries.map { [try ManifestPath($0)] } ?? []
        rules.iconKeys = try icons.map { try ManifestPath($0) }
        rules.nameKey = try name.map { try ManifestPath($0) }
        return rules
    }

    private func values(
        _ bytes: [UInt8], _ rules: ManifestRules = .init(), capacity: Int = 256 << 10
    ) throws -> [(text: String, source: [UInt8])] {
        let recognition = ShapeRecognition(rules)
        let input = ByteInput(bytes: bytes, name: "test")
        let (_, window) = try ManifestFormat.open(input, limits: rules.limits)
        let document = ManifestDocument(
            window: window, limits: rules.limits, recognition: recognition)
        var values: [(text: String, source: [UInt8])] = []
        _ = try document.readXML { entry in
            guard case .success(let element) = entry.content else { return }
            for icon in recognition.shapes[entry.shape].icons {
                for match in icon.path.matches(in: element, limit: 99) {
                    guard case .string(let text, let span) = match.value else { continue }
                    values.append((text, Array(bytes[span.bytes])))
                }
            }
        }
        return values
    }

    private func sources(_ text: String, _ rules: ManifestRules = .init()) throws -> [String] {
        try values(Array(text.utf8), rules).map { String(decoding: $0.source, as: UTF8.self) }
    }

    @Test func valuesAndTheirBytesAreFound() throws {
        let text = """
            \u{FEFF}<?xml version="1.0" encoding="UTF-8"?>\r
            <!-- é <x> --><!DOCTYPE apps SYSTEM "apps.dtd">\r
            <m:apps xmlns:m="u" xml:lang="é">\r
            <app n="é"><m:name>A é</m:name><icon><![CDATA[https://a.example/?a&b]]></icon></app>\r
            text <app><m:name>B</m:name><icon>
            https://a.example/é?a&amp;b</icon ><icon/></app>\r
            <app><icon type='remote'>https://a.example/3</icon><icon></icon></app>\r
            </m:apps>\r

            """
        let rules = try rules("/m:apps/app", "icon", name: "m:name")
        for capacity in [1, 61, 256 << 10] {
            let found = try values(Array(text.utf8), rules, capacity: capacity)
            #expect(
                found.map(\.text) == [
                    "https://a.example/?a&b", "\nhttps://a.example/é?a&b", "https://a.example/3",
                    "",
                ])
            #expect(
                found.map { String(decoding: $0.source, as: UTF8.self) } == [
                    "<![CDATA[https://a.example/?a&b]]>", "\nhttps://a.example/é?a&amp;b",
                    "https://a.example/3", "",
                ])
        }
        let reading = try readManifest(text, rules: rules)
        #expect(reading.items.map(\.name) == ["A é", "B", nil])
        #expect(reading.items.map(\.line) == [4, 5, 7])
        #expect(reading.summary == ManifestSummary(format: .xml, entries: 3))
    }

    @Test func attributesAreValues() throws {
        let text = """
            <tv a="é"><channel id="1"><display-name lang="é">A</display-name>\
            <icon width="9" src="https://a.example/é?a&amp;b"/></channel>
            <channel id="2" logo='https://a.example/2'><icon src = 'https://a.example/3' /></channel></tv>
            """
        #expect(
            try sources(text, rules("tv/channel", "icon/@src", "@logo")) == [
                "\"https://a.example/é?a&amp;b\"", "'https://a.example/3'", "'https://a.example/2'",
            ])
        let reading = try readManifest(
            text, rules: rules("/tv/channel", "icon/@src", name: "display-name"))
        #expect(
            reading.icons == [
                "1.1 A https://a.example/%C3%A9?a&b", "2.1  https://a.example/3",
            ])
    }

    @Test func conditionsSelectElements() throws {
        let text = """
            <r><e><icon type="cached">a.png</icon><icon type="remote" width="64">https://a.example/64</icon>\
            <icon width="128" type="remote">https://a.example/128</icon><icon>https://a.example/0</icon>\
            <name xml:lang="de">D</name><name>E</name></e></r>
            """
        #expect(
            try sources(text, rules("r/e", "icon[@type='remote']"))
                == ["https://a.example/64", "https://a.example/128"])
        #expect(
            try sources(text, rules("r/e", "icon[@type=\"remote\"][@width='128']"))
                == ["https://a.example/128"])
        #expect(try sources(text, rules("r/e", "*[@type='cached']/@type")) == ["\"cached\""])
        var rules = try rules("r/e", "icon[@type='remote']", name: "name[@xml:lang='de']")
        rules.icons = .largest
        #expect(try readManifest(text, rules: rules).icons == ["1.1 D https://a.example/128"])
    }

    /// Comments would be lost if the bytes were replaced.
    @Test func aTextWithCommentsHasNoBytes() throws {
        let text = "<r><e><icon>https://a.example/<!-- c -->a</icon></e></r>"
        let found = try values(Array(text.utf8), rules("r/e", "icon"))
        #expect(found.map(\.text) == ["https://a.example/a"])
        #expect(found.map(\.source) == [[]])
    }

    @Test func textNextToElementsIsIgnored() throws {
        let text = "<r><e>a<icon>x<b>https://a.example/1</b>y</icon>b</e></r>"
        #expect(try sources(text, rules("r/e", "icon/b")) == ["https://a.example/1"])
        #expect(try sources(text, rules("r/e", "icon")).isEmpty)
    }

    @Test func leavesAreEntries() throws {
        let text = "<urls><url>https://a.example/1</url><url n='2'>https://a.example/2</url></urls>"
        #expect(
            try sources(text, rules("/urls/url", "@"))
                == ["https://a.example/1", "https://a.example/2"])
    }

    @Test func otherEncodingsAreRead() throws {
        let body = "<id>é</id><icon a='é'>https://a.example/é</icon>"
        let text = "<components><a é='é'/><component>\(body)</component></components>"
        let latin = "<?xml version='1.0' encoding='ISO-8859-1'?>\n\(text)"
        let bytes = latin.unicodeScalars.map { UInt8($0.value) }
        let expected = "https://a.example/é".unicodeScalars.map { UInt8($0.value) }
        #expect(try values(bytes).map(\.source) == [expected])
        let wide = "\u{FEFF}<?xml version='1.0'?><!-- 🍎 -->\(text)".utf16
        func big(_ units: some Sequence<UInt16>) -> [UInt8] {
            units.flatMap { [UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        }
        func little(_ units: some Sequence<UInt16>) -> [UInt8] {
            units.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        }
        let value = "https://a.example/é"
        #expect(try values(big(wide)).map(\.source) == [big(value.utf16)])
        #expect(try values(little(wide)).map(\.source) == [little(value.utf16)])
        #expect(try values(big(wide)).map(\.text) == [value])
        // Invalid bytes make no difference to the places of others.
        let damaged =
            Array("<components><component><id>".utf8) + [0xFF, 0xC3, 0xFE]
            + Array("</id><icon>\(Self.url)</icon></component></components>".utf8)
        #expect(try values(damaged).map(\.source) == [Array(Self.url.utf8)])
        #expect(
            try manifestError("<?xml version='1.0' encoding='UTF-7'?><a/>")?.code == .malformed)
    }

    /// Comments before and after a text would not be lost.
    @Test func anIconNextToACommentHasBytes() throws {
        let text = "<r><e><icon><!-- c -->\(Self.url)<?p?>\n</icon></e></r>"
        #expect(try sources(text, rules("/r/e", "icon")) == [Self.url])
    }

    @Test func stringsOfAPropertyListHaveBytes() throws {
        let text = xmlPlist(
            """
            <array><dict><key>name</key><string>é</string><key>icon</key><string >\(Self.url)?a&amp;b\
            </string></dict><dict><key>icon</key><string><![CDATA[\(Self.url)]]></string></dict></array>
            """)
        #expect(try sources(text) == ["\(Self.url)?a&amp;b", "<![CDATA[\(Self.url)]]>"])
    }

    @Test func prioritiesAreText() throws {
        var rules = try rules("r/e", "icon")
        rules.priorityKey = "@rank"
        let text = "<r><e rank='7'><icon>\(Self.url)</icon></e><e rank='x'><icon>u</icon></e></r>"
        let reading = try readManifest(text, rules: rules)
        #expect(reading.entries.map(\.priority) == [7])
        #expect(reading.errors.map(\.code) == [.badPriority])
    }

    @Test func anUnknownShapeSuggestsOptions() throws {
        let items = (0..<3).map {
            "<item id='\($0)'><title>T</title><icon size='1'>\(Self.url)?\($0)</icon></item>"
        }
        let error = try manifestError("<shop><list>\(items.joined())</list></shop>")
        #expect(error?.code == .notAManifest)
        #expect(
            error?.reason.hasSuffix(
                "3 icons found with --entries /shop/list/item --icon-key icon --name-key title")
                == true, "\(error?.reason ?? "")")
        let single = try manifestError("<addon><assets icon='\(Self.url)'/></addon>")
        #expect(single?.reason.contains("--entries /addon/assets --icon-key @icon") == true)
    }

    @Test func unreadIconsHavePaths() throws {
        let text = """
            <components><component><id>a</id><icon>\(Self.url)</icon>\
            <icon2 a="1">\(Self.url)?2</icon2></component></components>
            """
        #expect(try readManifest(text).unread == ["icon2/#text 1"])
    }

    // MARK: - Limits

    private func component(_ content: String) -> String {
        "<component><id>a</id><icon>\(Self.url)</icon>\(content)</component>"
    }

    @Test(arguments: [
        (String(repeating: "<a>", count: 100) + String(repeating: "</a>", count: 100), "too-deep"),
        ("<a>\(String(repeating: "x", count: 2 << 20))</a>", "too-large"),
        ("<a>\(String(repeating: "<b/>", count: 200_000))</a>", "too-large"),
        (
            String(repeating: "<a b='\(String(repeating: "x", count: 9000))'/>", count: 200),
            "too-large"
        ),
        ("<icon>\u{1}</icon>", nil), ("<icon>&#0;</icon>", nil),
        ("<icon a='&#0;'>\u{1}</icon>", nil),
    ])
    func anEntryBeyondTheLimitsDoesNotAffectOthers(content: String, code: String?) throws {
        let text = "<components>\(component(content))\(component(""))</components>"
        let words = try readManifest(text).words
        #expect(words == (code.map { [$0] } ?? [Self.url, "icon-not-a-string"]) + [Self.url])
    }

    @Test(arguments: [
        (String(repeating: "<a>", count: 100_000), ManifestError.Code.tooDeep),
        ((0..<5000).map { "<n\($0)/>" }.joined(), .tooLarge),
        ("<a \((0..<300).map { " a\($0)=''" }.joined())/>", .tooLarge),
        ("<a b='\(String(repeating: "x", count: 3 << 20))'/>", .tooLarge),
        ("<a b='\(String(repeating: "x", count: 100))", .malformed),
        ("<a b='1' b='2'/>", .malformed), ("<a b='&x;'/>", .malformed), ("&x;", .malformed),
        ("<a></b>", .malformed), ("<a", .malformed), ("<![CDATA[", .malformed),
    ])
    func hostileDocumentsAreRefused(content: String, code: ManifestError.Code) throws {
        let text = "<components>\n<!--\n\n-->\(component(""))\n\(content)</components>"
        let error = try #require(try manifestError(text))
        #expect(error.code == code, "\(error)")
        #expect(error.place == .line(5), "\(error)")
    }

    @Test(arguments: [
        "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ENTITY % x SYSTEM 'y'>%x;]><a/>",
    ])
    func declarationsAreRefused(text: String) throws {
        #expect(try manifestError(text)?.code == .entityDeclared)
    }

    /// A text of 100 MB outside of entries is skipped. Memory is bounded, because the text is
    /// truncated before libxml2.
    @Test func aHugeTextIsSkipped() throws {
        let piece = [UInt8](repeating: UInt8(ascii: "x"), count: 1 << 20)
        let pipe = Pipe()
        let writer = Thread {
            let file = pipe.fileHandleForWriting
            try? file.write(contentsOf: Data("<components><a>".utf8))
            for _ in 0..<100 { try? file.write(contentsOf: Data(piece)) }
            let end = "</a><component><id>a</id><icon>\(Self.url)</icon></component></components>"
            try? file.write(contentsOf: Data(end.utf8))
            try? file.close()
        }
        writer.start()
        let descriptor = pipe.fileHandleForReading.fileDescriptor
        #expect(try readManifest(.descriptor(descriptor, name: "test")).words == [Self.url])
    }
}
