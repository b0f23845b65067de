import Testing

@testable import LarderManifest

@Suite struct JSONManifestTests {
    private static let a = #"{"name":"a","icon":"https://a.example/a.png"}"#
    private static let b = #"{"name":"b","icon":"https://a.example/b.png"}"#
    private static let urls = ["https://a.example/a.png", "https://a.example/b.png"]

    private func format(_ text: String) throws -> ManifestFormat? {
        try readManifest(text).summary?.format
    }

    @Test(arguments: [
        "[\(a),\(b)]", "{\"apps\":[\(a),\(b)]}", " [\r\n\(a) ,\r\n\(b)\r\n] \r\n",
        "{\n\"x\":[{\"apps\":[1]}],\"apps\" :\n[\(a)\n,\(b)],\"y\":{}\n}\n",
        "{\"apps\":1,\"apps\":[\(a),\(b)]}",
    ])
    func jsonDocumentsAreRead(text: String) throws {
        let reading = try readManifest(text)
        #expect(reading.summary?.format == .json)
        #expect(reading.words == Self.urls)
    }

    @Test func emptyArraysAreRead() throws {
        #expect(try readManifest("[]").summary == ManifestSummary(format: .json, entries: 0))
        #expect(
            try readManifest("{\"apps\": [ ]}").summary
                == ManifestSummary(format: .json, entries: 0))
    }

    @Test(arguments: [
        "\(a)\n\(b)\n", "\(a)\r\n\r\n\(b)", "\n \(a) \n\(b)\n", "\(a)\n{\"apps\":[]}\n\(b)",
        "\(a)\(b)", "\(a) \(b)", "\(a)\t\r\n\t\(b)", "\u{1E}\(a)\n\u{1E}\(b)\n",
        "\u{1E}\(a)\u{1E}\(b)",
    ])
    func jsonLinesAreRead(text: String) throws {
        let reading = try readManifest(text)
        #expect(reading.summary?.format == .jsonLines)
        #expect(reading.words.filter { $0 != "skipped" } == Self.urls)
        #expect(reading.items.first?.name == "a")
    }

    @Test func aSingleObjectWithAnIconIsJSONLines() throws {
        #expect(try readManifest(Self.a).words == ["https://a.example/a.png"])
        #expect(try format("{\"icon\":null}") == .jsonLines)
        let error = try manifestError("{\"things\":[{\"name\":\"a\"}]}")
        #expect(error?.code == .notAManifest)
        #expect(
            error?.description == """
                test: line 1: the shape of the manifest is unknown; use --entries and --icon-key \
                to say where the icons are, or --icon-template to build their URLs
                """)
        #expect(try manifestError("{}")?.code == .notAManifest)
        #expect(
            try manifestError("{\"apps\":{}}")?.reason.hasPrefix(
                "'apps' is a dictionary, not an array; use --entries") == true)
    }

    /// Each `|` is a place where JSON permits white space.
    @Test(arguments: [
        #"{|"name"|:|"a"|,|"icon"|:|"https://a.example/a.png"|}"#,
        #"{|"icon"|:|"https://a.example/a.png"|,|"list"|:|[|{|"icon"|:|"https://a.example/c.png"|}|]|}"#,
        #"{|"icon"|:|"https://a.example/a.png"|}|{|"art"|:|{|}|,|"icon"|:|"https://a.example/b.png"|}"#,
        #"[|{|"icon"|:|"https://a.example/a.png"|}|,|{|"icon"|:|"https://a.example/b.png"|}|]"#,
        #"{|"x"|:|[|]|,|"apps"|:|[|{|"icon"|:|"https://a.example/a.png"|}|]|}"#,
        #"{|"x"|:|1|,|"a"|:|{|"name"|:|"A"|,|"icon"|:|"https://a.example/a.png"|}|,|"b"|:|{|"icon"|:|"https://a.example/b.png"|}|}"#,
        #"{|"apps"|:|[|{|"icon"|:|"https://a.example/a.png"|}|]|}|{|"icon"|:|"https://a.example/b.png"|}"#,
        #"[|]|[|]"#, #"{|"picture"|:|1|}|{|"picture"|:|2|}"#,
    ])
    func whiteSpaceBetweenTokensDoesNotMatter(text: String) throws {
        func outcome(_ blank: String) throws -> [String] {
            let text = text.replacing("|", with: blank)
            let error = try manifestError(text)
            guard error == nil else { return ["\(error.map(\.code.rawValue) ?? "")"] }
            let reading = try readManifest(text)
            return reading.words + reading.unread + ["\(reading.summary?.format.rawValue ?? "")"]
        }
        let minified = try outcome("")
        for blank in [" ", "\n", "\r\n", "\n    ", "\t \n\n"] {
            #expect(try outcome(blank) == minified, "\(blank.debugDescription)")
        }
    }

    /// Reading only one of the documents would let `evict --only` remove the icons of the rest.
    @Test(arguments: [
        "[\(a)]\n[\(b)]", "{\"apps\":[\(a)]}\n{\"apps\":[\(b)]}", "\(a)\n{\"apps\":[\(b)]}",
        "{\"items\":[{\"logo\":\"l\"}]}{\"items\":[]}",
        "\(a)\n{\"x\":1,\n\"templates\":[{\"logo\":\"l\"}]}",
    ])
    func severalJSONDocumentsAreRefused(text: String) throws {
        #expect(try manifestError(text)?.code == .malformed)
    }

    @Test(arguments: [
        ("[\(a),\n\(b),,]", ManifestError.Place.line(2, column: 47), "expected a value, found ','"),
        ("[\(a)\n\(b)]", .line(2, column: 1), "expected ',' or ']', found '{'"),
        ("[\(a)", .line(1, column: 47), "the file ends"),
        ("[", .line(1, column: 2), "the file ends"),
        ("{\"apps\":[\(a)]", .line(1, column: 56), "the file ends"),
        (
            "{\"apps\":[\(a)],,}", .line(1, column: 57),
            "expected a key in quotation marks, found ','"
        ),
        ("{\"apps\":[]} x", .line(1, column: 13), "expected the end of the line, found 'x'"),
        ("{\"apps\":[]}\n\(a)", .line(2, column: 1), "expected the end of the file, found '{'"),
        ("[]\n[]", .line(2, column: 1), "expected the end of the file, found '['"),
        ("{\"apps\":[],\"apps\":[]}", .line(1, column: 19), "'apps' occurs twice"),
        ("[\r\n\"\u{7}\"\u{7}]", .line(2, column: 4), "expected ',' or ']'"),
        ("{\n \"x\": tru\n}", .line(2, column: 7), "unknown word"),
        ("{\"x\":\n{\"a\":,}}", .line(2, column: 6), "expected a value, found ','"),
        ("{", .line(1, column: 2), "the file ends"),
        ("{\"a\":1}}", .line(1, column: 8), "expected the end of the line, found '}'"),
    ])
    func malformedJSONDocumentsAreRefused(
        text: String, place: ManifestError.Place, reason: String
    ) throws {
        let error = try #require(try manifestError(text))
        #expect(error.code == .malformed)
        #expect(error.place == place, "\(error)")
        #expect(error.reason.hasPrefix(reason), "\(error)")
    }

    @Test(arguments: [
        ("{\"icon\":}\n", "column 9: expected a value, found '}'"),
        ("{\"name\":\"a\n", "column 11: the line ends inside a string"),
        ("{\n", "the line ends before its object is closed"),
        ("{\"name\":\"a\",\n", "the line ends before its object is closed"),
        ("{\"name\":\"a\"\n", "the line ends before its object is closed"),
        ("{\"name\":\"a\",\n\n  ", "the line ends before its object is closed"),
        ("{\"name\":\"a\"} x\n", "column 14: expected the end of the line, found 'x'"),
        ("{name}\n\n", "column 2: expected a key in quotation marks, found 'n'"),
    ])
    func aMalformedFirstLineDoesNotAffectOtherLines(line: String, reason: String) throws {
        let reading = try readManifest(line + Self.a + "\n" + Self.b)
        #expect(reading.summary?.format == .jsonLines)
        #expect(reading.words == ["unparsable-line"] + Self.urls)
        #expect(reading.errors.first?.message == reason)
        #expect(reading.items.first?.line == 1)
        #expect(reading.items[1].line == line.count(where: { $0 == "\n" }) + 1)
    }

    /// Every byte is at the end of a window once.
    @Test func aWindowMayEndAtAnyByte() throws {
        let text =
            #"{"x":[1.5e3,-20,"é\n\u4e2d\\",true,null],"apps":[\#(Self.a),{"n":{"m":[[]]}},\#(Self.b)],"z":false}"#
        let lines = "\(Self.a)\n{\"broken\":}\n\n\(Self.b)\n17\n"
        let manyLines = (0..<20).map { "{\"name\":\"\(String(repeating: "n", count: $0))\"}\n" }
            .joined()
        for text in [text, lines, manyLines, "  \n" + text, "[\(Self.a),\(Self.b)]"] {
            var expected: [String] = []
            for capacity in [4096] + Array(1...120) {
                let input = ByteInput(bytes: Array(text.utf8), name: "test")
                var found: [String] = []
                let window = ByteWindow(input, capacity: capacity)
                _ = try ManifestDocument(
                    window: window, limits: .init(), recognition: ShapeRecognition(ManifestRules())
                ).readJSON {
                    found.append("\($0.line ?? 0) \($0.content)")
                }
                if expected.isEmpty { expected = found }
                #expect(found == expected, "capacity \(capacity)")
                #expect(found.count >= 2)
            }
        }
    }

    @Test func jsonLinesMayStartWithAMultilineObject() throws {
        let reading = try readManifest("{\"name\":\"A\"\n} {\"icon\":\"https://a.example/1\"}\n")
        #expect(reading.words == ["skipped", "https://a.example/1"])
    }

    /// In a document, a line break in a string is an invalid control character.
    @Test(arguments: ["\u{2}", "\u{1F}", #"\x"#, #"\uD8"#, #"\u{7}"#, "\n", "\r\n"])
    func invalidStringsDoNotAffectOtherEntries(bad: String) throws {
        let entries = [
            Self.a, "{\"icon\":\"https://a.example/\(bad).png\"}",
            "{\"name\":\"x\(bad)y\",\"\(bad)\":[\"\(bad)\"],\"icon\":\"https://a.example/c.png\"}",
            "\"\(bad)\"", Self.b,
        ]
        let words = [
            Self.urls[0], "icon-not-a-string", "https://a.example/c.png", "not-a-dictionary",
            Self.urls[1],
        ]
        let list = "[\(entries.joined(separator: ","))]"
        for text in [list, "{\"apps\":\(list)}", "{\"x\":1,\"apps\":\(list)\n}"] {
            #expect(try readManifest(text).words == words, "\(text)")
        }
        if !bad.utf8.contains(0x0A) {
            #expect(try readManifest(entries.joined(separator: "\n")).words == words)
        }
    }

    /// In documents and JSON Lines, in any member, and in keys.
    @Test func invalidUTF8DoesNotAffectOtherEntries() throws {
        let bad = [
            #"{"name":"é","icon":"https://a.example/a.png"}"#,
            #"{"icon":"https://a.example/b.png","x":[{"é":"é"}]}"#,
            #"{"icon":"https://a.example/é.png"}"#,
            #"{"icon":"https://a.example/c.png","key":"é"}"#,
            #"{"icon":"https://a.example/c.png","sha256":"é"}"#, #""é""#,
            #"{"é":1,"icon":"https://a.example/c.png"}"#,
            #"{"icon":"https://a.example/d.png"}"#,
        ]
        let words = [
            "https://a.example/a.png", "https://a.example/b.png", "icon-not-a-string",
            "https://a.example/c.png",
            "bad-integrity", "not-a-dictionary", "https://a.example/c.png",
            "https://a.example/d.png",
        ]
        for text in ["[" + bad.joined(separator: ",\n") + "]", bad.joined(separator: "\n")] {
            // Keeps only the first byte of each é.
            let bytes = Array(text.utf8).filter { $0 != 0xA9 }
            #expect(try readManifest(.bytes(bytes, name: "test")).words == words)
        }
    }
}
