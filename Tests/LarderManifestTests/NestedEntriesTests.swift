import Foundation
import Testing

@testable import LarderManifest

/// Entries at several paths, at any depth, and within other entries.
@Suite(.timeLimit(.minutes(30))) struct NestedEntriesTests {
    private static func rules(_ entries: [String], _ icons: String...) throws -> ManifestRules {
        var rules = ManifestRules()
        rules.entries = try entries.map { try ManifestPath($0) }
        rules.iconKeys = try icons.map { try ManifestPath($0) }
        return rules
    }

    /// Returns the spans of the icons in the text.
    private func spans(_ reading: ManifestReading) -> [Int] {
        reading.items.compactMap { $0.value?.span.lowerBound }
    }

    private let dashboard: [String: Any] = [
        "icon": "https://a.example/page.png",
        "sections": [
            [
                "name": "S", "icon": "https://a.example/1",
                "items": [
                    ["name": "A", "icon": "https://a.example/2"],
                    ["name": "B", "icon": "https://a.example/3"],
                ],
            ],
            ["name": "T", "items": [["name": "C", "icon": "https://a.example/4"]]],
        ],
    ]

    /// In binary property lists and in JSON from Foundation, members have any order.
    private static let icons: Set<String> = [
        "S https://a.example/1", "A https://a.example/2", "B https://a.example/3",
        "C https://a.example/4", "T skipped",
    ]

    @Test(arguments: [
        ["sections", "sections[*].items"], ["sections[*].items", "sections"],
        ["sections", "..items"], ["sections", "..items", "sections[*].items", "sections"],
    ])
    func entriesAreAtSeveralPathsInAllFormats(entries: [String]) throws {
        let rules = try Self.rules(entries, "icon")
        var sources = [try JSONSerialization.data(withJSONObject: dashboard)]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            sources.append(
                try PropertyListSerialization.data(
                    fromPropertyList: dashboard, format: format, options: 0))
        }
        for data in sources {
            let reading = try readManifest(.bytes(Array(data), name: "test"), rules: rules)
            let found = zip(reading.items, reading.words).map { "\($0.name ?? "") \($1)" }
            #expect(found.count == 5 && Set(found) == Self.icons, "\(found)")
            #expect(reading.items.map(\.position) == [1, 2, 3, 4, 5])
            #expect(Set(spans(reading)).count == 4)
        }
    }

    @Test func pathsWithoutEntriesAreNamed() throws {
        func unused(_ text: String, _ entries: String..., icon: String? = nil) throws -> [String] {
            var rules = try Self.rules(entries)
            rules.iconKeys = try icon.map { [try ManifestPath($0)] } ?? []
            let source = ManifestSource.bytes(Array(text.utf8), name: "test")
            return try ManifestReader(source: source, rules: rules).read { _ in }
                .warnings(of: source)
        }
        let text = #"{"a":[{"name":"A"}],"b":[{"logo":"https://a.example/1","c":[]}]}"#
        let none = "test: no entry is at the --entries path "
        // Entries without icons are entries.
        #expect(try unused(text, "a", "b") == [])
        #expect(try unused(text, "a", "..b", "b", icon: "logo") == [])
        #expect(try unused(text, "b", "..c", "x.y") == [none + "..c", none + "x.y"])
        #expect(
            try unused(text, "a[?@.name=='B']", "b", icon: "logo")
                == [none + #"'a[?@.name=='\''B'\'']'"#])
        let xml = "<r><a><i>https://a.example/1</i></a></r>"
        #expect(try unused(xml, "/r/a", "//b", icon: "i") == [none + "//b"])
    }

    @Test func anEntryPrecedesTheEntriesWithinIt() throws {
        let text = """
            sections:
            - {name: S, icon: https://a.example/1, items: [
                {name: A, icon: https://a.example/2}, {name: B, icon: https://a.example/3}]}
            - name: T
              items:
            - items: [{name: C, icon: https://a.example/4}]
            """
        let reading = try readManifest(
            text, rules: Self.rules(["sections", "sections[*].items"], "icon"))
        #expect(
            reading.icons == [
                "1.1 S https://a.example/1", "2.1 A https://a.example/2",
                "3.1 B https://a.example/3", "4.1 T skipped", "5.1  skipped",
                "6.1 C https://a.example/4",
            ])
        #expect(spans(reading) == spans(reading).sorted())
        #expect(reading.places?.entries.map { "\($0)" } == ["sections[*]", "sections[*].items[*]"])
    }

    /// An icon of an inner entry used to be an icon of the outer entry, too.
    @Test func eachIconBelongsToOneEntry() throws {
        let text = """
            {"a":{"icon":"https://a.example/1","list":[{"x":{"icon":"https://a.example/2"},
             "list":[{"icon":"https://a.example/3"}]}]}}
            """
        for icons in [["..icon"], ["..icon", "icon"], ["..icon", "x.icon", "..icon"]] {
            var rules = try Self.rules(["$", "..list"])
            rules.iconKeys = try icons.map { try ManifestPath($0) }
            let reading = try readManifest(text, rules: rules)
            #expect(
                reading.words
                    == ["https://a.example/1", "https://a.example/2", "https://a.example/3"])
            #expect(reading.items.map(\.position) == [1, 2, 3], "\(icons)")
            #expect(Set(spans(reading)).count == 3)
        }
    }

    @Test func elementsOfXMLAreFoundAtAnyDepth() throws {
        let text = """
            <opml><body><outline text="F"><outline text="A" img="https://a.example/1"/>
            <outline text="B"><outline text="C" img="https://a.example/2"/></outline></outline>
            <outline text="D" img="https://a.example/3"/></body></opml>
            """
        for path in ["//outline", "/opml/body//outline", "/opml//outline"] {
            let reading = try readManifest(text, rules: Self.rules([path], "@img"))
            #expect(
                reading.words == [
                    "skipped", "https://a.example/1", "skipped", "https://a.example/2",
                    "https://a.example/3",
                ], "\(path)")
        }
        let whole = try readManifest(text, rules: Self.rules(["/opml/body"], ".//outline/@img"))
        #expect(whole.icons.map { $0.prefix(3) } == ["1.1", "1.2", "1.3"])
    }

    @Test(arguments: [
        (
            "items[?@.kind=='b']",
            #"{"items":[{"kind":"a","icon":"x:a"},{"kind":"b","icon":"x:b"},7]}"#
        ),
        ("..[?@.kind=='b']", #"{"q":[[{"kind":"a","icon":"x:a"},{"kind":"b","icon":"x:b"}]]}"#),
        ("/r/i[@k='b']", "<r><i k='a'><icon>x:a</icon></i><i k='b'><icon>x:b</icon></i><i/></r>"),
        ("//i[@k='b']", "<r><i k='a'><icon>x:a</icon></i><q><i k='b'><icon>x:b</icon></i></q></r>"),
    ])
    func entriesCanHaveAFilter(path: String, text: String) throws {
        let reading = try readManifest(text, rules: Self.rules([path], "icon"))
        #expect(reading.items.map(\.value?.text) == ["x:b"])
    }

    /// Prefixes of names are compared as written.
    @Test func namesInXMLHavePrefixes() throws {
        let text = """
            <rss xmlns:itunes="u"><channel><item><itunes:image href="https://a.example/1"/></item>
            <item><image href="https://a.example/2"/></item></channel></rss>
            """
        let reading = try readManifest(
            text, rules: Self.rules(["/rss/channel/item"], "itunes:image/@href"))
        #expect(reading.words == ["https://a.example/1", "skipped"])
    }

    @Test func anEntryWithItsEntriesHasTheLimitOfAnEntry() throws {
        let item = #"{"icon":"https://a.example/1"}"#
        let text = """
            [{"items":[\(Array(repeating: item, count: 9).joined(separator: ","))]},{"items":[\(item)]}]
            """
        let rules = try Self.rules(["[*]", "[*].items"], "icon")
        let reading = try readManifest(
            text, rules: rules, limits: ManifestLimits(maximumEntrySize: 99))
        #expect(reading.words == ["too-large", "skipped", "https://a.example/1"])
    }

    /// The search used to have no limit.
    @Test(arguments: ["[", #"{"a":"#])
    func aSearchIsLimitedToADepth(opening: String) throws {
        let text = String(repeating: opening, count: 100_000)
        let error = #expect(throws: ManifestError.self) {
            try readManifest(text, rules: Self.rules(["..list"], "icon"))
        }
        #expect(error?.code == .tooDeep)
    }

    @Test func eachLineOfJSONLinesIsSearched() throws {
        let text = """
            {"a":{"icon":"https://a.example/1"}}
            {"b":[{"icon":"https://a.example/2"}]}
            """
        var rules = ManifestRules()
        rules.iconKeys = ["..icon"]
        #expect(
            try readManifest(text, rules: rules).icons.map { $0.suffix(1) } == ["1", "2"])
    }
}
