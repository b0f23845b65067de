import Testing

@testable import LarderManifest

@Suite struct JSONCommentsTests {
    private static let url = "https://a.example/a.png"
    private static let entry = "{\"icon\": \"\(url)\"}"
    private static let limits = ManifestLimits(maximumDepth: 8, maximumEntrySize: 1000)

    @Test(arguments: [
        "// first\n[\(entry), \(entry)]", "/* first\n * line */ [\(entry), \(entry)] // last",
        "[\(entry), // \"one\n \(entry) /* ] */ ]\n/* last */\n", "[\(entry), \(entry),]",
        "{\"apps\"/**/:// list\n[\(entry),/* , */\(entry),\n],}\n// last\n",
        "{// \"apps\": []\n\"x\": [1, 2, /* 3 */], \"apps\": [\(entry),\(entry)]}",
        "\u{FEFF}/**/// a\r\n/***/{\"apps\": [\(entry),\(entry)]} /* last */",
        "[{\"icon\"/* \" */:\"\(url)\",// }\n},{/* */\"icon\":\"\(url)\"/**/}]",
    ])
    func commentsAndTrailingCommasAreSkipped(text: String) throws {
        let reading = try readManifest(text)
        #expect(reading.summary == ManifestSummary(format: .json, entries: 2))
        #expect(reading.words == [Self.url, Self.url])
    }

    @Test func aSingleObjectMayHaveComments() throws {
        let text = "// one\n{\"icon\": \"\(Self.url)\" // two\n} // three\n/* four */\n"
        #expect(try readManifest(text).words == [Self.url])
    }

    /// Brackets and quotation marks in the comments of a skipped value do not count.
    @Test(arguments: [
        "{\"a\": [1, /* ]} \" */ \"\(String(repeating: "x", count: 2000))\", // }\n 2]}",
        "[[[[[[[[[[ // ] \"\n ]]]]]]]]]]", "/* } */ [[[[[[[[[[ /* * / ] **/ ]]]]]]]]]]",
    ])
    func commentsInSkippedValuesAreSkipped(value: String) throws {
        let text = "[\(Self.entry), \(value), \(Self.entry)]"
        let reading = try readManifest(text, limits: Self.limits)
        #expect(reading.words.count == 3)
        #expect(reading.words.first == Self.url)
        #expect(reading.words.last == Self.url)
        #expect(reading.errors.count == 1)
    }

    @Test func aLongCommentIsSkipped() throws {
        let long = String(repeating: "*", count: 600_000)
        let text = "[\(Self.entry), //\(long)\n/*\(long)*/ \(Self.entry)]"
        #expect(try readManifest(text).words == [Self.url, Self.url])
    }

    @Test(arguments: [
        "[\(entry) / \(entry)]", "[\(entry), /* open \(entry)]", "[,]",
        "[\(entry),,]", "{,}", "{\"apps\": [\(entry)],,}", "[\(entry)] /",
    ])
    func brokenCommentsAndCommasAreRefused(text: String) throws {
        #expect(try manifestError(text)?.code == .malformed)
    }

    @Test(arguments: ["// only a comment", "/ [", "//a.example/b.png", "/* open ["])
    func aCommentAloneIsNotAManifest(text: String) throws {
        let code = try manifestError(text)?.code
        #expect(code == .notAManifest || code == .empty)
    }

    @Test func jsonLinesMayHaveComments() throws {
        let text =
            "\(Self.entry) // one\n\(Self.entry)\n/* two */\n{\"icon\":\"\(Self.url)\",}\n// three"
        #expect(try readManifest(text).words == [Self.url, Self.url, Self.url])
    }
}
