import Testing

/// The rules of XML, tested with SVG documents.
struct XMLWellFormednessTests: ImageTests {
    @Test(arguments: [
        "<svg/>", "<svg></svg>", "<svg ></svg >", "\n<svg/>\n", "<svg><g/><g></g>text</svg>",
        "<?xml version='1.0'?><svg/>", "<?xml\nversion='1.0'?><svg/>",
        "<?xml-stylesheet href='a'?><svg/>",
        "<?xml version = \"1.1\" standalone='no' ?>\n<svg/>",
        "<!-- - > < & -->\n<svg/><!---->", "<?php <svg> ?><svg/>", "<svg><?a?><?b c?></svg>",
        "<svg><![CDATA[<g> & ]] ]> ]]></svg>", "<svg a='\"' b=\"'\" c = ']]>' d='>'/>",
        "<svg>&amp;&lt;&gt;&quot;&apos;&#9;&#65;&#x1F600;</svg>", "<svg a='&amp;&#10;'/>",
        "<svg><a-b.c_1 xlink:href='#'/></svg>", "<svg>] ]] >]</svg>", "<svg>été 図</svg>",
        "<!DOCTYPE svg><svg>&whatever;</svg>", "<!DOCTYPE svg SYSTEM '>]'><svg/>",
        "<!DOCTYPE svg [<!-- ' ] > --><?a ' ]> ?><!ENTITY a \"']>\">\n%p;] ><svg/>",
    ])
    func wellFormedXMLIsAccepted(text: String) {
        #expect(fault(text) == nil)
    }

    @Test(arguments: [
        ("<svg><g></svg>", "not open"), ("<svg></svg></svg>", "not open"),
        ("<svg></SVG>", "not open"), ("<svg/><svg/>", "second root"), ("<svg/>text", "outside"),
        ("<svg/>\0", "outside"), ("<svg a=1/>", "without quotes"), ("<svg a/>", "without a value"),
        ("<svg a='1'b='2'/>", "damaged tag"), ("<svg a='1' a='2'/>", "duplicate attribute"),
        ("<svg a='<'/>", "inside an attribute"), ("<svg>< g/></svg>", "damaged name"),
        ("<svg><1g/></svg>", "damaged name"), ("<svg><-g/></svg>", "damaged name"),
        ("<svg>&nbsp;</svg>", "undeclared entity"), ("<svg>&amp </svg>", "unterminated"),
        ("<svg>& </svg>", "damaged name"), ("<svg>&#0;</svg>", "invalid character"),
        ("<svg>&#xD800;</svg>", "invalid character"),
        ("<svg>&#1a;</svg>", "invalid character"), ("<svg>&#+65;</svg>", "invalid character"),
        ("<svg>&#99999999999;</svg>", "invalid character"), ("<svg>]]></svg>", "CDATA"),
        ("<svg><!-- a -- b --></svg>", "hyphens"), ("<svg><?xml version='1.0'?></svg>", "XML decl"),
        ("<?xml version='1'?><svg/>", "version"), ("<?xml encoding='x'?><svg/>", "XML declaration"),
        ("<svg><!DOCTYPE svg></svg>", "damaged name"), ("<svg>\u{1}</svg>", "invalid character"),
        ("<svg>\u{FFFE}</svg>", "invalid character"),
    ])
    func malformedXMLIsRejected(text: String, word: String) {
        expectDamage(Array(text.utf8), word)
    }

    @Test func anXMLErrorNamesTheLine() {
        #expect(fault("<svg>\n<g>\n</h></svg>")?.message.hasSuffix(", line 3") == true)
        #expect(fault("<svg>\n\u{1}\n</svg>")?.message.hasSuffix(", line 2") == true)
    }

    @Test func invalidUTF8InXMLNeedsADeclaredEncoding() {
        let text = [UInt8]("<svg>".utf8) + [0xE9] + "</svg>".utf8
        expectDamage(text, "invalid character")
        expectDamage(Array("<?xml version='1.0' encoding='UTF-8'?>".utf8) + text, "invalid")
        #expect(fault(Array("<?xml version='1.0' encoding='latin1'?>".utf8) + text) == nil)
    }

    @Test func xmlNestingHasALimit() {
        #expect(fault(nested(200)) == nil)
        expectDamage(Array(nested(200_000).utf8), "too deeply")
    }

    @Test func theNumberOfXMLAttributesHasALimit() {
        func tag(_ count: Int) -> String {
            "<svg " + (0..<count).map { "a\($0)=''" }.joined(separator: " ") + "/>"
        }
        #expect(fault(tag(256)) == nil)
        expectDamage(Array(tag(257).utf8), "too many attributes")
    }

    /// Unbounded or quadratic work would take minutes.
    @Test(.timeLimit(.minutes(30)))
    func hostileXMLDocumentsAreReadQuickly() {
        var entities = "<!ENTITY e0 '\(String(repeating: "a", count: 100))'>"
        for level in 1...12 {
            let previous = String(repeating: "&e\(level - 1);", count: 10)
            entities += "<!ENTITY e\(level) '\(previous)'>"
        }
        #expect(fault("<!DOCTYPE svg [\(entities)]><svg a='&e12;'>&e12;</svg>") == nil)
        let names = (0..<50_000).map { "n\($0)" }.joined(separator: "|")
        let types = "<!ELEMENT e (\(names))><!ATTLIST e a (\(names)) #IMPLIED>"
        #expect(fault("<!DOCTYPE svg [\(types)]><svg/>") == nil)
        let elements = (0..<50_000).map { "<e\($0)/>" }.joined()
        #expect(fault("<svg>\(elements)</svg>") == nil)
        #expect(fault("<svg>" + String(repeating: "<!--", count: 50_000))?.code == .damaged)
        #expect(
            fault("<!DOCTYPE svg" + String(repeating: "[<!", count: 50_000))?.code == .truncated)
    }

    private func nested(_ depth: Int) -> String {
        "<svg>" + String(repeating: "<g>", count: depth) + String(repeating: "</g>", count: depth)
            + "</svg>"
    }
}
