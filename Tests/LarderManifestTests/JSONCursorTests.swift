import Testing

@testable import LarderManifest

@Suite struct JSONCursorTests {
    private static let limits = ManifestLimits(maximumDepth: 8, maximumEntrySize: 1000)
    private static let good = #"{"icon":"https://a.example/a.png"}"#
    private static let url = "https://a.example/a.png"
    private static let long = String(repeating: "x\\\"]}", count: 300)
    private static let deep = nested(400)

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    /// Elements beyond the limits and their error codes. Names make failures readable.
    private static let elements = [
        "a long member": ("{\"name\":\"\(long)\"}", "too-large"),
        "a long string": ("\"\(long)\"", "too-large"),
        "a long number": (String(repeating: "1", count: 2000), "too-large"),
        "a long array": ("[\(String(repeating: "1,", count: 1000))2]", "too-large"),
        "a string beyond any window": (
            "{\"a\":\"\(String(repeating: "x", count: 600_000))\"}", "too-large"
        ),
        "deep arrays": (deep, "too-deep"),
        "deep arrays in an object": ("{\"a\":\(deep)}", "too-deep"),
    ]

    @Test(arguments: elements.keys)
    func elementsBeyondTheLimitsAreSkipped(name: String) throws {
        let (element, code) = try #require(Self.elements[name])
        let document = try readManifest(
            "[\(Self.good),\(element),\(Self.good)]", limits: Self.limits)
        #expect(document.words == [Self.url, code, Self.url])
        let last = try readManifest("[\(Self.good),\(element)]", limits: Self.limits)
        #expect(last.words == [Self.url, code])
        let lines = try readManifest("\(Self.good)\n\(element)\n\(Self.good)", limits: Self.limits)
        #expect(lines.words == [Self.url, code, Self.url])
        guard element.hasPrefix("{") else { return }
        let first = try readManifest("\(element)\n\(Self.good)", limits: Self.limits)
        #expect(first.words == [code, Self.url])
    }

    @Test func largeMembersOfTheDocumentAreSkipped() throws {
        let text = "{\"x\":\"\(Self.long)\",\"y\":\(Self.deep),\"apps\":[\(Self.good)]}"
        #expect(try readManifest(text, limits: Self.limits).words == [Self.url])
    }

    @Test func elementsWithinTheLimitsAreRead() throws {
        let maximum = 1000 - Self.good.utf8.count - 7
        func element(_ length: Int) -> String {
            String(Self.good.dropLast()) + ",\"x\":\"\(String(repeating: "y", count: length))\"}"
        }
        #expect(element(maximum).utf8.count == 1000)
        let text = "[\(element(maximum)),\(element(maximum + 1))]"
        #expect(try readManifest(text, limits: Self.limits).words == [Self.url, "too-large"])
    }

    /// An escape may be split by the end of the bytes that are read at once, at one of the offsets.
    @Test(arguments: 0..<2) func escapesInASkippedStringDoNotEndIt(offset: Int) throws {
        let escapes = String(repeating: #"\\"#, count: 200_000)
        let text =
            "[{\"a\":\"\(String(repeating: "x", count: offset))\(escapes)\"},"
            + "{\"icon\":\"\(Self.url)\"}]"
        #expect(try readManifest(text, limits: Self.limits).words == ["too-large", Self.url])
    }

    @Test func aFirstLineOfManyMembersIsTooLarge() throws {
        let line = "{\(String(repeating: "\"a\":1,", count: 200))\"icon\":\"x\"}"
        #expect(
            try readManifest("\(line)\n\(Self.good)", limits: Self.limits).words == [
                "too-large", Self.url,
            ])
        let strings = "[\"\(Self.long)\",1]"
        #expect(
            try readManifest("[\(strings),\(Self.good)]", limits: Self.limits).words == [
                "too-large", Self.url,
            ])
    }

    /// Its other members may have any size and any number of lines.
    @Test func aSingleObjectMayBeLong() throws {
        let list = "[" + Array(repeating: "{ \"a\": 1 }", count: 200).joined(separator: ",") + "]"
        for text in [
            "{\"x\":\(list),\(Self.good.dropFirst())",
            "{\"x\":\(Self.deep),\(Self.good.dropFirst())",
        ] {
            #expect(try readManifest(text, limits: Self.limits).words == [Self.url])
            let pretty = text.replacing(",", with: ",\n  ")
            #expect(try readManifest(pretty, limits: Self.limits).words == [Self.url])
        }
    }

    @Test func deeplyNestedElementsAreSkipped() throws {
        let element = Self.nested(200_000)
        for text in ["[\(element),\(Self.good)]", "{\"a\":\(element)}\n\(Self.good)"] {
            #expect(try readManifest(text).words == ["too-deep", Self.url])
        }
        #expect(try readManifest("\(Self.good)\n\(element)").words == [Self.url, "too-deep"])
        let objects = String(repeating: "{\"a\":", count: 100_000)
        #expect(try manifestError("[" + objects)?.code == .malformed)
    }

    @Test func unclosedNestingIsRefused() throws {
        let text = String(repeating: "[", count: 200_000)
        let error = try manifestError(text)
        #expect(error?.code == .malformed)
        #expect(error?.place == .line(1, column: 200_001))
    }
}
