import Testing

@testable import LarderManifest

/// Hostile and invalid YAML ends with a clear error.
@Suite(.timeLimit(.minutes(30))) struct YAMLLimitTests {
    private static let good = "- icon: https://a.example/a.png\n"
    private static let url = "https://a.example/a.png"

    /// Each member has nine aliases of the one before.
    private static let bomb =
        "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
        + (1...12).map { level in
            let aliases = [String](repeating: "*a\(level - 1)", count: 9).joined(separator: ", ")
            return "a\(level): &a\(level) [\(aliases)]\n"
        }.joined()

    private static func repeated(_ text: String, _ count: Int) -> String {
        String(repeating: text, count: count)
    }

    private static let large = [
        "an expansion bomb": ("\(bomb)apps: *a12\n", "aliases expand to more than"),
        "a bomb before the entries": ("\(bomb)apps: []\n", "aliases expand to more than"),
        "many anchors": (
            "apps:\n" + (0...10_000).map { "- &a\($0) {}\n" }.joined(), "10000 anchors"
        ),
        "a large anchored value": (
            "apps: &a\n\(repeated(good, 200_000))b: *a\n", "anchored values have more than"
        ),
        "a long scalar": ("apps:\n- icon: \(repeated("x", 3 << 20))\n", "a value or a comment"),
        "a long quoted scalar": ("apps:\n- icon: \"\(repeated("x", 3 << 20))", "a value or"),
        "a long block": ("apps:\n- icon: |\n\(repeated("    line\n", 400_000))", "a value or"),
        "a long comment": ("apps:\n\(good)\(repeated("# c\n", 800_000))\(good)", "a value or"),
        "many tags": (
            (0...200).map { "%TAG !a\($0)! x\n" }.joined() + "---\napps: []\n", "directives"
        ),
        "too many tags": ((0...50_000).map { "%TAG !a\($0)! x\n" }.joined(), "before the document"),
        "a long tag": ("%TAG ! \(repeated("x", 2_000))\n---\napps: [!a x]\n", "directives"),
    ]

    @Test(arguments: large.keys) func tooLargeYAMLIsRefused(name: String) throws {
        let (text, reason) = try #require(Self.large[name])
        let error = try #require(try manifestError(text))
        #expect(error.code == .tooLarge)
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test(arguments: ["[", "{a: ", "- ", "{? "]) func tooDeepYAMLIsRefused(opening: String) throws {
        let error = try manifestError("a:\n  \(Self.repeated(opening, 100_000))")
        #expect(error?.code == .tooDeep)
    }

    /// The format is found without reading the whole file as JSON first.
    @Test(arguments: [
        ("[{a: \(repeated("[", 200_000))", ManifestError.Code.tooDeep),
        ("[{a: \(repeated("{b: ", 100_000))", .tooDeep),
        ("\(repeated("[", 200_000)){a: b}", .malformed),
        ("[{a: \"\(repeated("x", 3 << 20))", .tooLarge),
        ("[{a: \(repeated("x", 3 << 20))", .tooLarge),
        ("[{a: b}, \(repeated("# c\n", 800_000))", .tooLarge),
        ("[{a: b}, \(repeated("&a ", 100))]", .malformed), ("[{a: b}, *c]", .malformed),
        ("[{a: b}\0]", .malformed), ("[{a: b}]]", .malformed), ("[{a: b}", .malformed),
    ])
    func hostileFlowStyleIsRefused(text: String, code: ManifestError.Code) throws {
        let source = ManifestSource.bytes(Array(text.utf8), name: "test.yaml")
        #expect(try manifestError(source)?.code == code)
    }

    @Test(arguments: [nil, "apps" as ManifestPath])
    func valuesOutsideOfEntriesHaveTheSameDepth(entries: ManifestPath?) throws {
        var rules = ManifestRules()
        rules.entries = entries.map { [$0] } ?? []
        func read(_ depth: Int) throws {
            let text = "a: \(Self.repeated("[", depth))\(Self.repeated("]", depth))\n"
            #expect(
                try readManifest("\(text)apps:\n\(Self.good)", rules: rules).words == [Self.url])
        }
        try read(63)
        let error = #expect(throws: ManifestError.self) { try read(64) }
        #expect(error?.code == .tooDeep)
    }

    /// The rest of the list is read.
    @Test(arguments: [
        ("- \(repeated("[", 70))\(repeated("]", 70))\n", "too-deep"),
        ("- {a: \(repeated("{b: ", 70))\(repeated("}", 70))}\n", "too-deep"),
        ("- [\(repeated("x, ", 200_000))]\n", "too-large"),
        ("- {name: \(repeated("x", 1 << 20))}\n", "too-large"),
        ("- ? \(repeated("k", 9_000))\n  : v\n", "too-large"),
        ("- b: &b [\(repeated("x, ", 500))]\n  c: &c [\(repeated("*b, ", 400))]\n", "too-large"),
        (
            "- b: &b [&c [[[&d [x]]]]]\n  e: [*b, \(repeated("[", 64))*b\(repeated("]", 64))]\n",
            "too-deep"
        ),
    ])
    func entriesBeyondTheLimitsAreSkipped(entry: String, code: String) throws {
        let reading = try readManifest("\(Self.good)\(entry)\(Self.good)")
        #expect(reading.words == [Self.url, code, Self.url])
        let last = try readManifest("\(Self.good)\(entry)")
        #expect(last.words == [Self.url, code])
    }

    @Test func aListMayHaveAnAnchorAndAnySize() throws {
        let reading = try readManifest("apps: &apps\n\(Self.repeated(Self.good, 150_000))")
        #expect(reading.words.count == 150_000)
    }

    @Test(arguments: [
        ("a: \"b\nc: d\n", "line 3, column 1", "a quoted scalar that starts in line 1"),
        ("apps:\n\t- x\n", "line 2, column 1", "cannot start any token"),
        ("a: b\nc: é\u{1}d\n", "line 2, column 6", "U+1 is not allowed"),
        ("a: \(repeated("b", 600))\nc: d\0\n", "line 2, column 5", "U+0 is not allowed"),
        ("é: @x\n", "line 1, column 5", "cannot start any token"),
        ("a: [b\n", "line 2, column 1", "that starts in line 1"),
        ("a: b: c\n", "line 1, column 5", "mapping values are not allowed"),
        ("a: &a [*a]\n", "line 1", "'*a' is inside its own value"),
        ("apps:\n- icon: *a\n", "line 2", "'*a' has no anchor"),
        ("apps: []\napps: []\n", "line 2", "'apps' occurs twice"),
    ])
    func invalidYAMLIsRefused(text: String, place: String, reason: String) throws {
        let error = try #require(try manifestError(text))
        #expect(error.code == .malformed)
        #expect(error.place?.description.hasPrefix(place) == true, "\(error)")
        #expect(error.reason.contains(reason), "\(error)")
    }

    @Test(arguments: [[0x61, 0x3A, 0x20, 0xFF], [0x61, 0x3A, 0x20, 0xE2, 0x82]] as [[UInt8]])
    func invalidUTF8IsRefused(bytes: [UInt8]) throws {
        let error = try #require(try manifestError(.bytes(bytes, name: "test")))
        #expect(error.code == .malformed)
        #expect(error.reason == "the text is not valid UTF-8")
        #expect(error.place == .line(1, column: 4))
    }

    @Test(arguments: [
        "apps:\n- icon: {{ .Values.icon }}\n", "{{- if .x }}\napps: []\n", "{% if x %}\na: b\n",
        "apps:\n{{- range .apps }}\n- icon: x\n{{- end }}\n",
        "apps:\n{% for a in b %}\n- icon: x\n",
        "---\nlayout: null\n---\n<?xml version=\"1.0\"?>\n<a/>\n", "---\n---\n<!DOCTYPE html>\n",
        "---\n<?xml version=\"1.0\"?>\n<a/>\n",
    ])
    func aTemplateIsRefused(text: String) throws {
        for entries in [nil, "apps" as ManifestPath] {
            var rules = ManifestRules()
            rules.entries = entries.map { [$0] } ?? []
            let error = #expect(throws: ManifestError.self) {
                try readManifest(text, rules: rules)
            }
            #expect(error?.code == .notAManifest)
            #expect(
                error?.reason.contains("the file is a template") == true,
                "\(String(describing: error))")
        }
    }

    @Test(arguments: ["a: \"{{ name }}\"\napps: []\n", "apps: [{icon: null, x: {a: {b: c}}}]\n"])
    func bracesOfOtherValuesAreNoTemplate(text: String) throws {
        #expect(try manifestError(text) == nil)
    }

    @Test(arguments: [
        "Notes about icons\nicon: x\n", "--- yaml\n", "name,icon\nA,https://a.example/a.png\n",
        "\"text\"\n", "-5\n", "key\n", "--- |\n  text\n", "%YAML 3.0\n---\na: b\n",
    ])
    func otherTextIsNotYAML(text: String) throws {
        let error = try #require(try manifestError(text))
        #expect(error.code == .notAManifest)
        #expect(error.reason.contains("it starts with"), "\(error)")
    }

    @Test func aKeyMayBeNamedLikeAScheme() throws {
        let text = "data: x\napps:\n\(Self.good)"
        #expect(try readManifest(text).words == [Self.url])
        #expect(try readManifest("data:,x\n").summary?.format == .urlList)
    }

    @Test func emptyDocumentsAreSkipped() throws {
        #expect(try manifestError("# only\n")?.code == .empty)
        #expect(try manifestError("# c\n---\n...\n---\n# c\n- x\n---\n") == nil)
    }
}
