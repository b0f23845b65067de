import Testing

@testable import LarderCore
@testable import LarderManifest

/// Icon URLs that are built from members and from the names of icons in sets.
@Suite struct IconTemplateTests {
    private func words(
        _ text: String, _ template: String, icons: [ManifestPath] = [], base: String? = nil
    ) throws -> [String] {
        var rules = ManifestRules()
        rules.iconTemplate = try IconTemplate(template)
        rules.iconKeys = icons
        return try readManifest(text, base: base, rules: rules).words
    }

    @Test func membersAreFilledIn() throws {
        let text = #"[{"id":"a b","v":{"n":7},"icon":"https://a.example/x","size":"s"}]"#
        for (template, url) in [
            ("https://b.example/{id}/icon.png", "https://b.example/a%20b/icon.png"),
            ("https://b.example/{v.n}-{id}.png", "https://b.example/7-a%20b.png"),
            ("https://b.example/{id}?s={size}", "https://b.example/a%20b?s=512"),
            ("https://b.example/{@.size}", "https://b.example/s"),
        ] {
            #expect(try words(text, template) == [url], "\(template)")
        }
        #expect(
            try words(text, "i/{id}.png", base: "https://c.example/r/")
                == ["https://c.example/r/i/a%20b.png"])
        #expect(try words(text, "i/{id}.png") == ["relative"])
        let xml = "<components><component type='x'><id>a</id></component></components>"
        #expect(
            try words(xml, "https://b.example/{@type}/{id}") == ["https://b.example/x/a"])
    }

    @Test(arguments: [
        ("../x", "..%2Fx"), ("...a", "...a"), ("a/b?c#d", "a%2Fb%3Fc%23d"),
        ("%2e%2e", "%252e%252e"),
        ("u:p@h", "u%3Ap%40h"), ("a\\\\b", "a%5Cb"), ("é", "%C3%A9"), ("{size}", "%7Bsize%7D"),
    ])
    func aMemberIsASinglePathSegment(value: String, segment: String) throws {
        #expect(
            try words(#"[{"id":"\#(value)"}]"#, "https://b.example/r/{id}/i.png")
                == ["https://b.example/r/\(segment)/i.png"])
    }

    @Test(arguments: ["\"\"", "\" \"", "\".\"", "\"..\"", "null", "[1]", "{}", "true"])
    func aMissingMemberIsAnErrorOfItsEntry(value: String) throws {
        #expect(
            try words(
                #"[{"id":\#(value)},{"id":"b"},{"name":"B"}]"#, "https://b.example/{id}")
                == ["unparsable-url", "https://b.example/b", "unparsable-url"])
    }

    @Test func withAnIconKeyTheTemplateIsForEntriesWithoutAnIcon() throws {
        let text = #"[{"id":"a","logo":"https://a.example/x"},{"id":"b","logo":""},{"id":"c"}]"#
        #expect(
            try words(text, "https://b.example/{id}", icons: ["logo"])
                == ["https://a.example/x", "https://b.example/b", "https://b.example/c"])
    }

    /// A built URL is not in the manifest.
    @Test func aBuiltURLHasNoValue() throws {
        var rules = ManifestRules()
        rules.iconTemplate = try IconTemplate("https://b.example/{id}")
        let reading = try readManifest(#"[{"id":"a"}]"#, rules: rules)
        #expect(reading.items.map(\.value) == [nil])
        #expect(reading.places?.template == "https://b.example/{id}")
    }

    @Test(arguments: ["", "a", "{", "a{b", "{}", "{size}", "{a..}"])
    func templatesWithoutMembersAreRefused(text: String) {
        #expect(throws: ManifestPath.SyntaxError.self) { try IconTemplate(text) }
    }

    @Test(arguments: [
        ("mdi:home", "https://m.example/home.svg"), ("mdi-home", "https://m.example/home.svg"),
        ("mdi mdi-home", "https://m.example/home.svg"),
        ("mdi-lamp-#f0d453", "https://m.example/lamp.svg"), ("mdi:", "other-scheme"),
        ("mdi-light:home", "icon-set"), ("mdi:../x", "other-scheme"), ("mdi-", "relative"),
        ("fas fa-house fa-fw", "https://f.example/house"), ("fas", "relative"),
        ("fa-solid fa-house", "https://s.example/house"), ("far fa-house", "icon-set"),
        ("si-github", "icon-set"), ("mdi-home.svg", "relative"),
        ("lucide-cat", "https://l.example/cat"),
        ("https://a.example/mdi-home", "https://a.example/mdi-home"),
    ])
    func namesInSetsAreMapped(value: String, expected: String) throws {
        var rules = ManifestRules()
        rules.iconSets = try [
            "mdi=https://m.example/{name}.svg", "fas=https://f.example/{name}",
            "fa-solid=https://s.example/{name}", "lucide=https://l.example/{name}",
        ].map { try IconSet($0) }
        let reading = try readManifest(#"[{"icon":"\#(value)"}]"#, rules: rules)
        #expect(reading.words == [expected])
        #expect(reading.items.first?.value?.text == value)
    }

    @Test(arguments: [
        "", "mdi", "=https://a.example/{name}", "mdi=", "mdi={name}", "mdi=https://a.example/",
        "m d=https://a.example/{name}", "mdi=ftp://a.example/{name}",
    ])
    func setsWithoutAURLAreRefused(text: String) {
        #expect(throws: ManifestPath.SyntaxError.self) { try IconSet(text) }
    }
}
