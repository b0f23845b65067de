import LarderXML
import Testing

/// The names, attributes and places of elements in documents of which any root is permitted.
@Suite(.timeLimit(.minutes(30))) struct XMLAttributesTests {
    private static func rules(maximumTextBytes: Int = 64 << 10) -> XMLRules {
        var rules = XMLRules(maximumTextBytes: maximumTextBytes)
        rules.elements = ["plist", "array", "string"]
        rules.containers = ["plist", "array"]
        rules.permitsOtherRoots = true
        rules.maximumDepth = 64
        return rules
    }

    private struct Element: Equatable {
        let name: String
        let line: Int
        /// Each attribute as `name=value`.
        var attributes: [String] = []
        /// The bytes of each attribute's value in the document.
        var values: [String] = []
        var text = ""
        /// The bytes of the text in the document. Nil if unknown.
        var content: String?
    }

    private func elements(
        _ text: String, _ rules: XMLRules = rules(), bufferSize: Int = 64 << 10
    ) throws -> [Element] {
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        let reader = try XMLReader(rules, offsets: .init(from: 0), bufferSize: bufferSize) {
            let next = rest.prefix($0.count)
            $0.copyBytes(from: next)
            rest = rest.dropFirst(next.count)
            return next.count
        }
        func source(_ place: Range<Int>?) -> String? {
            place.map { String(decoding: bytes[$0], as: UTF8.self) }
        }
        var elements: [Element] = []
        var open: [Int] = []
        while true {
            switch try reader.advance(keepingBlanks: true) {
            case .start:
                if !reader.isEmpty { open.append(elements.count) }
                elements.append(
                    Element(
                        name: reader.name, line: reader.line,
                        attributes: reader.attributes.map { "\($0.name)=\($0.value)" },
                        values: reader.attributes.compactMap { source($0.place) }))
            case .text: open.last.map { elements[$0].text += reader.text }
            case .end: elements[open.removeLast()].content = source(reader.content)
            case .finished: return elements
            }
        }
    }

    private func error(_ text: String, _ rules: XMLRules = rules()) -> XMLError? {
        do {
            _ = try elements(text, rules)
            return nil
        } catch {
            return error as? XMLError
        }
    }

    @Test func attributesAndTheirPlacesAreRead() throws {
        let text = """
            <r  a = "1"\tb='é"&lt;'\r\n xml:lang="de" c.d-e_1="">
            <i src="https://a.example/é?a&amp;b&#x41;"/><t x="&#10;\n\t \r\n">é&amp;<![CDATA[<]]></t></r>
            """
        for size in [1, 7, 64 << 10] {
            let found = try elements(text, bufferSize: size)
            #expect(
                found.map(\.attributes) == [
                    ["a=1", "b=é\"<", "xml:lang=de", "c.d-e_1="],
                    ["src=https://a.example/é?a&bA"], ["x=\n    "],
                ])
            #expect(found[0].values == ["\"1\"", "'é\"&lt;'", "\"de\"", "\"\""])
            #expect(found[1].values == ["\"https://a.example/é?a&amp;b&#x41;\""])
            #expect(found[2].text == "é&<")
            #expect(found[2].content == "é&amp;<![CDATA[<]]>")
            #expect(found.map(\.content) == [nil, nil, "é&amp;<![CDATA[<]]>"])
            #expect(found.map(\.line) == [1, 3, 3])
        }
    }

    /// The text between the tags of an element without child elements, or the only part with text.
    @Test(arguments: [
        ("<r></r>", ""), ("<r>\r\n é </r >", "\r\n é "), ("<r><![CDATA[]]></r>", "<![CDATA[]]>"),
        ("<!-- c --><r a='>'>x</r><!-- c -->", "x"),
        ("<r>a<!-- c --></r>", "a"), ("<r><?p?>a</r>", "a"),
        ("<r>\n<!-- c -->\n a&amp; \n<?p?> <!-- c --></r>", "\n a&amp; \n"),
        ("<r> <!-- c -->&#97;</r>", "&#97;"),
        ("<r><!-- c --><![CDATA[a]]> </r>", "<![CDATA[a]]> "),
        ("<r/>", nil), ("<r>a<b/></r>", nil), ("<r> <!-- c --> </r>", nil),
        ("<r>a<!-- c -->b</r>", nil), ("<r>a<?p?>b<?p?>c<?p?></r>", nil),
    ])
    func thePlaceOfATextIsKnown(text: String, content: String?) throws {
        for size in [1, 64 << 10] {
            #expect(try elements(text, bufferSize: size).first?.content == content)
            // Property lists have different rules.
            let list = text.replacing("<r", with: "<string").replacing("</r", with: "</string")
            guard !list.contains("<b/>") else { continue }
            let found = try elements("<plist>\n\(list)</plist>", bufferSize: size)
            #expect(found.last?.content == content)
        }
    }

    @Test func theOffsetsInLatin1AreKnown() throws {
        let bytes = Array("<r é='ü'><é>é</é><a b='ßé'>ß</a></r>".utf8)
        var isRead = false
        let reader = try XMLReader(Self.rules(), offsets: .init(from: 5, unitSize: 1)) {
            defer { isRead = true }
            if !isRead { $0.copyBytes(from: bytes) }
            return isRead ? 0 : bytes.count
        }
        var places: [Range<Int>] = []
        while case let node = try reader.advance(), node != .finished {
            if node == .start { places += reader.attributes.compactMap(\.place) }
            if node == .end, let content = reader.content { places.append(content) }
        }
        #expect(places == [10..<13, 17..<18, 27..<31, 32..<33])
    }

    @Test(arguments: [
        ("<r a='1' a=\"2\"/>", "the attribute 'a' occurs twice"),
        ("<r a/>", "the attribute 'a' has no value"),
        ("<r a=1/>", "the value of the attribute 'a'"),
        ("<r a='1'b='2'/>", "white space is missing"), ("<r 1='a'/>", "expected the name"),
        ("<r a='&b;'/>", "the reference '&b;' is unknown"),
        ("<r a='&#xD800;'/>", "the reference '&#xD800;' is unknown"),
        ("<r a='&#+65;'/>", "the reference"), ("<r a='&#-0;'/>", "the reference"),
        ("<r a='a & b'/>", "'&' does not start a reference"),
        ("<r a='<'/>", "'<' inside a tag"), ("<r><b></b a='1'></r>", "an end tag"),
        ("<r a='1", "unexpected end"), ("<r><a b='1'", "unexpected end"),
    ])
    func malformedAttributesAreRefused(text: String, reason: String) {
        for before in ["", "<!--\n\n-->\n"] {
            let error = error(before + text)
            #expect(error?.reason.hasPrefix(reason) == true, "\(text): \(error?.reason ?? "")")
            #expect(error?.line == (before.isEmpty ? 1 : 4))
        }
    }

    /// The lines of errors from libxml2 count the lines of removed comments and attributes.
    @Test func errorsHaveTheLineInTheOriginalDocument() {
        let text = "<r>\n<!--\n\n\n--><a\n b='\n'>\n</a><a>\n</b></r>"
        #expect(error(text)?.line == 9)
    }

    @Test func attributesHaveLimits() throws {
        func attributes(_ count: Int) -> String {
            (0..<count).map { " a\($0)='1'" }.joined()
        }
        #expect(try elements("<r\(attributes(256))/>").first?.attributes.count == 256)
        #expect(error("<r\(attributes(257))/>")?.code == .tooLarge)
        let value = String(repeating: "x", count: 50_000)
        #expect(try elements("<r a='\(value)'/>").first?.attributes == ["a=\(value)"])
        #expect(error("<r><a a='\(value)\(value)'/></r>")?.code == .tooLarge)
        let name = String(repeating: "n", count: 1025)
        #expect(error("<r><a \(name)='1'/></r>")?.code == .tooLarge)
        #expect(error("<r><\(name)/></r>")?.code == .tooLarge)
        // Property lists keep their own limit.
        let list = "<plist><array \(name)='\(String(repeating: "x", count: 4000))'/></plist>"
        #expect(error(list)?.code == .tooLarge)
    }

    /// Attributes wait until libxml2 reports their tags.
    @Test func manyTagsWithAttributesAreRead() throws {
        let tag = "<a b='\(String(repeating: "x", count: 3000))' c='&lt;'/>"
        let found = try elements("<r>\(String(repeating: tag, count: 400))</r>")
        #expect(found.count == 401)
        #expect(found.dropFirst().allSatisfy { $0.attributes.last == "c=<" })
    }

    @Test func attributesOfPropertyListsAreIgnored() throws {
        let found = try elements("<plist a='1'><string b='&x;'>a</string></plist>")
        #expect(found.map(\.attributes) == [[], []])
        #expect(found.map(\.content) == [nil, "a"])
    }
}
