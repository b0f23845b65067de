import Testing

@testable import LarderManifest

@Suite struct JSONLinesManifestTests {
    private static let good = #"{"icon":"https://a.example/a.png"}"#
    private static let url = "https://a.example/a.png"

    @Test(arguments: [
        ("{\"icon\":,}", "unparsable-line", "column 9: expected a value, found ','"),
        ("{\"icon\":\"x", "unparsable-line", "column 11: the line ends inside a string"),
        ("{\"icon\":[", "unparsable-line", "the line ends before its object is closed"),
        ("  }", "unparsable-line", "column 3: expected a value, found '}'"),
        ("{} }", "unparsable-line", "column 4: expected the end of the line, found '}'"),
        ("17", "not-a-dictionary", "expected a dictionary, found an integer"),
        ("[1]", "not-a-dictionary", "expected a dictionary, found an array"),
        ("\u{1B}[2J", "unparsable-line", #"column 1: expected a value, found '\u{1B}'"#),
    ])
    func aMalformedLineDoesNotAffectOtherLines(line: String, code: String, message: String) throws {
        for end in ["\n", "\r\n"] {
            let reading = try readManifest([Self.good, "", line, Self.good].joined(separator: end))
            #expect(reading.summary == ManifestSummary(format: .jsonLines, entries: 3))
            #expect(reading.words == [Self.url, code, Self.url])
            #expect(reading.items.map(\.line) == [1, 3, 4])
            #expect(reading.errors.first?.message == message)
        }
    }

    /// Objects in the style of `jq`.
    @Test(arguments: [
        "{\n  \"icon\": 1,\n  bad\n  \"art\": [\n    {\n      \"icon\": \"x\"\n    }\n  ]\n}",
        "{\n  \"icon\": [\n    1", "{\"icon\": {\n", "{\"icon\": [1,\n  2}\n",
        "{\n  \"x\": \"\(String(repeating: "y", count: 2_000))\",\n  \"z\": [\n    {}\n  ]\n}",
        "{\n  \"x\": [[[[[[[[[\n    1\n  ]]]]]]]]]\n}",
    ])
    func aMalformedMultilineObjectDoesNotAffectOthers(object: String) throws {
        let pretty = "{\n  \"icon\": \"https://a.example/a.png\"\n}"
        let limits = ManifestLimits(maximumDepth: 8, maximumEntrySize: 1_000)
        for good in [Self.good, pretty] {
            let reading = try readManifest(
                [good, object, good, good].joined(separator: "\n"), limits: limits)
            #expect(reading.entries.count == 3, "\(reading.words)")
            #expect(reading.errors.count == 1, "\(reading.words)")
        }
    }

    @Test func aTruncatedLastLineDoesNotAffectOtherLines() throws {
        let reading = try readManifest("\(Self.good)\n{\"icon\":\"htt")
        #expect(reading.words == [Self.url, "unparsable-line"])
    }

    @Test func skippedLinesAreCounted() throws {
        let long = "{\"x\":\"\(String(repeating: "y", count: 600_000))\"}"
        let limits = ManifestLimits(maximumEntrySize: 1000)
        let reading = try readManifest(
            [Self.good, long, "", "{", Self.good].joined(separator: "\n"), limits: limits)
        #expect(reading.words == [Self.url, "too-large", "unparsable-line", Self.url])
        #expect(reading.items.map(\.line) == [1, 2, 4, 5])
    }
}
