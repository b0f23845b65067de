import Testing

@testable import LarderCore
@testable import LarderManifest

@Suite struct YAMLManifestTests {
    private static let a = "https://a.example/a.png"
    private static let b = "https://a.example/b.png"

    @Test(arguments: [
        "- {name: A, icon: \(a)}\n- {name: B, icon: \(b)}",
        "apps:\n  - name: A\n    icon: \(a)\n  - name: B\n    icon: \(b)\n",
        "# A comment\n%YAML 1.2\n---\napps:\n- {name: A, icon: \(a)}\n- {name: B, icon: \(b)}\n...\n",
        "\u{FEFF}apps: [{name: A, icon: \(a)}, {name: B, icon: \(b)}]",
        "\n\n  apps:\n  - icon: \(a)\n    name: A\n  - icon: \(b)\n    name: B\n",
        "app-1:\n  name: A\n  icon: \(a)\napp-2:\n  name: B\n  icon: \(b)\n",
        "name: A\nicon: \(a)\n---\nname: B\nicon: \(b)\n---\n",
        "---\napps:\n- {name: A, icon: \(a)}\n---\napps:\n- {name: B, icon: \(b)}\n",
        "'apps':\r\n- name: \"A\"\r\n  icon: |-\r\n    \(a)\r\n"
            + "- name: !!str B\r\n  icon: >\r\n    \(b)\r\n",
        "[{name: A, icon: \(a)}, {name: B, icon: \(b)}]",
        "[\n  {\"name\": A, \"icon\": \(a)},\n  {\"name\": B, \"icon\": \(b)}\n]\n",
        "  {apps: [\n{name: A, icon: \(a)},\n{name: B, icon: \(b)}]}\n",
        "[{'name': 'A', 'icon': '\(a)'}, {'name': 'B', 'icon': \"\(b)\"}]",
        "[ # apps\n{\"name\": \"A\", \"icon\": \"\(a)\"}, {name: B, icon: \(b)}]",
        "[{\"icon\": \"\(a)\", \"name\": \"A\" # one\n}, {name: B, icon: \(b)}]",
        "[&a {\"name\": \"A\", \"icon\": \"\(a)\"}, {<<: *a, name: B, icon: \(b)}]",
        "[{\"name\": !!str A, \"icon\": \"\(a)\"}, {\"name\": \"B\", \"icon\": \(b)}]",
        "[{\"name\": \"A\", \"icon\": \"\(a)\"}]\n---\n[{\"name\": \"B\", \"icon\": \"\(b)\"}]\n",
        "{\"name\": \"A\", \"icon\": \"\(a)\"} # one\n---\n{name: B, icon: \(b)}\n",
    ])
    func listsMapsAndDocumentsAreRead(text: String) throws {
        let reading = try readManifest(.bytes(Array(text.utf8), name: "test.yaml"))
        #expect(reading.summary == ManifestSummary(format: .yaml, entries: 2))
        #expect(reading.icons == ["1.1 A \(Self.a)", "2.1 B \(Self.b)"])
    }

    @Test func textInBracketsIsYAMLOnlyInAFileOfThatName() throws {
        let json = "[{\"name\": \"A \\ud83c\\udf4e\", \"icon\": \"\(Self.a)\"}]"
        let yaml = "[{name: A, icon: \(Self.a)}]"
        func source(_ text: String, _ name: String) -> ManifestSource {
            .bytes(Array(text.utf8), name: name)
        }
        for name in ["x.yaml", "x.YML", "x.yml.gz", "https://a.example/x.yaml?b=.json"] {
            #expect(try readManifest(source(json, name)).summary?.format == .json)
            #expect(try readManifest(source(yaml, name)).summary?.format == .yaml)
        }
        for name in ["x", "x.json", "yaml", "x.jsonl.gz"] {
            #expect(try readManifest(source(json, name)).summary?.format == .json)
            let error = try manifestError(source(yaml, name))
            #expect(error?.reason == "expected a key in quotation marks, found 'n'")
        }
    }

    @Test func aDocumentWithoutAnIconIsSkipped() throws {
        let reading = try readManifest("File: DEP-11\n---\nname: A\nicon: \(Self.a)\n")
        #expect(reading.words == ["skipped", Self.a])
        #expect(reading.items.map(\.line) == [1, 3])
    }

    @Test func theRootMayBeAnEntryOfOtherMembers() throws {
        var rules = ManifestRules()
        rules.iconKeys = ["x-casaos.icon", "x-casaos.screenshots[*]"]
        let text = """
            services: {web: {image: x}}
            x-casaos:
              icon: \(Self.a)
              screenshots:
              - \(Self.b)
            """
        #expect(try readManifest(text, rules: rules).words == [Self.a, Self.b])
    }

    @Test func pathsLeadThroughYAML() throws {
        var rules = ManifestRules()
        rules.entries = ["entries.*[*]"]
        rules.iconKeys = ["icon"]
        let text = "entries:\n  one:\n  - icon: \(Self.a)\n  - icon: \(Self.b)\n  two: []\n"
        #expect(try readManifest(text, rules: rules).words == [Self.a, Self.b])
    }

    @Test func optionsAreSuggestedForAnUnknownShape() throws {
        let text = "things:\n" + String(repeating: "- art: {small: \(Self.a)}\n  id: x\n", count: 4)
        #expect(try manifestError(text)?.reason.contains("--icon-key art.small") == true)
    }

    /// Values of the core schema. Others are strings.
    @Test(arguments: [
        ("12", ManifestValue.integer(12)), ("0x1F", .string("0x1F")), ("-inf", .string("-inf")),
        ("-0.5", .double(-0.5)), ("1.5e3", .double(1500)), ("1.2.3", .string("1.2.3")),
        ("2024-01-01", .string("2024-01-01")), ("true", .bool(true)), ("False", .bool(false)),
        ("no", .string("no")), ("on", .string("on")), ("~", .null), ("null", .null), ("", .null),
        ("'12'", .string("12")), ("\"true\"", .string("true")), ("!!str 12", .string("12")),
        ("\"\\x41\\u00e9\\\n    b\"", .string("Aéb")), ("a\n  b", .string("a b")),
        ("|\n  a\n  b\n\n", .string("a\nb\n")), (">-\n  a\n  b", .string("a b")),
    ])
    func scalarsHaveTypes(text: String, value: ManifestValue) throws {
        let found = try Self.members("x: \(text)\n").first?.value
        if case .string(let expected, _) = value {
            guard case .string(let text, _)? = found else {
                Issue.record("\(String(describing: found))")
                return
            }
            #expect(text == expected)
        } else {
            #expect(found == value)
        }
    }

    @Test func theLastOfEqualKeysCounts() throws {
        #expect(try readManifest("- icon: x\n  icon: \(Self.a)\n").words == [Self.a])
    }

    @Test func membersWithOtherKeysAreSkipped() throws {
        let text = "- ? [a, {b: c}]\n  : [d]\n  icon: \(Self.a)\n- ? {a: b}\n  icon: \(Self.b)\n"
        #expect(try readManifest(text).words == [Self.a, Self.b])
        let root = "? [a, b]\n: c\n&x apps: [{icon: \(Self.a)}]\n"
        #expect(try readManifest(root).words == [Self.a])
    }

    @Test func aliasesRepeatTheirValues() throws {
        let text = """
            base: &base {icon: &icon \(Self.a), inner: &inner [1, *icon]}
            apps:
            - *base
            - icon: *icon
            - &own
              icon: \(Self.b)
              copy: *inner
            - *own
            """
        #expect(try readManifest(text).words == [Self.a, Self.a, Self.b, Self.b])
        let list = "list: &list [{icon: \(Self.a)}]\napps: *list\n"
        #expect(try readManifest(list).words == [Self.a])
        // An anchor may be defined again, and ends with its document.
        let again = "- icon: &x \(Self.a)\n- icon: &x \(Self.b)\n- icon: *x\n"
        #expect(try readManifest(again).words == [Self.a, Self.b, Self.b])
        #expect(try manifestError("icon: &x a\n---\nicon: *x\n")?.code == .malformed)
    }

    @Test func mergeKeysInheritMembers() throws {
        let text = """
            - &a {name: A, icon: \(Self.a)}
            - &b {name: B, icon: \(Self.b), size: 1}
            - {<<: *b, name: own}
            - {name: list, <<: [*a, *b]}
            - {name: C, icon: \(Self.b), <<: *a}
            - {"<<": *a, name: quoted}
            - {<<: text, name: text}
            """
        let reading = try readManifest(text)
        #expect(
            reading.icons == [
                "1.1 A \(Self.a)", "2.1 B \(Self.b)", "3.1 own \(Self.b)", "4.1 list \(Self.a)",
                "5.1 C \(Self.b)", "6.1 quoted skipped", "7.1 text skipped",
            ])
    }

    @Test func eachLineIsKnown() throws {
        let text = "# one\n\napps:\n- icon: \(Self.a)\n\n- name: |\n    B\n\n  icon: \(Self.b)\n"
        #expect(try readManifest(text).items.map(\.line) == [4, 6])
    }

    private static func members(_ text: String) throws -> [ManifestValue.Member] {
        let window = ByteWindow(ByteInput(bytes: Array(text.utf8), name: "test"))
        let cursor = try YAMLCursor(window, limits: .init())
        guard try cursor.beginDocument(),
            case .success(.dictionary(let members)) = try cursor.take()
        else { return [] }
        return members
    }
}

/// The bytes at the span of a value are its token.
@Suite struct YAMLSpanTests {
    @Test(arguments: [
        ("plain", "plain"), ("\"a \\\" b\"", "\"a \\\" b\""), ("'it''s'", "'it''s'"),
        ("two\n    lines  # comment", "two\n    lines"), ("&anchor value", "value"),
        ("!!str &a \"v\"", "\"v\""), ("!<tag:x,y:z> v", "v"),
        ("&a # comment\n    'v'", "'v'"), ("&a\n\n    v", "v"),
        ("|\n    text é\n    more\n\n\n", "|\n    text é\n    more"),
        ("&a >- # comment\n    text  \n\n", ">- # comment\n    text"),
        ("|\n    text\u{85}\u{2028}\n\u{2029}", "|\n    text"),
        ("日本 𝒳", "日本 𝒳"), ("\"\\u00e9\u{2028}x\"", "\"\\u00e9\u{2028}x\""),
    ])
    func aSpanIsTheTokenOfAValue(token: String, expected: String) throws {
        // Longer than the buffer.
        let line = "long: \(String(repeating: "é", count: 900))\n"
        let long = String(repeating: line, count: 400)
        for end in ["\n", "\r\n"] {
            for (before, after) in [
                ("", ""), ("\u{FEFF}", ""), ("é: [ü, {日本: 𝒳}] # ß\n", "z: end\n"),
                ("\u{FEFF}\n# ä\n", "..."), ("    \n", "\n\n"),
                (long, ""),
            ] {
                let text = "\(before)value: \(token)\n\(after)".replacing("\n", with: end)
                let found = try Self.tokens(text).last { $0.key == "value" }?.text
                #expect(found == expected.replacing("\n", with: end), "\(text.suffix(200))")
            }
        }
    }

    @Test func theSpanOfAnAliasIsTheAlias() throws {
        let text = "é: &é-1 x\n".replacing("é-1", with: "a1") + "b: *a1\nc: {d: *a1}\n"
        let tokens = try Self.tokens(text).map { "\($0.key) \($0.text)" }
        #expect(tokens == ["é x", "b *a1", "d *a1"])
    }

    @Test func valuesOfAnAliasedMappingAreAtTheirSource() throws {
        let text = "a: &a {icon: \"é\"}\nb: *a\nc: {<<: *a}\n"
        let (values, bytes) = try Self.values(text)
        let spans = values.map { String(decoding: bytes[$0.span.bytes], as: UTF8.self) }
        #expect(spans == ["\"é\"", "\"é\"", "\"é\""])
        #expect(Set(values.map(\.span.bytes)).count == 1)
    }

    @Test func anEmptyValueHasNoSpan() throws {
        let (values, _) = try Self.values("a: !!str\nb: x\n")
        #expect(values.first?.span == .unknown)
        #expect(values.last?.span != .unknown)
    }

    private static func tokens(_ text: String) throws -> [(key: String, text: String)] {
        let (values, bytes) = try values(text)
        return values.map { ($0.key, String(decoding: bytes[$0.span.bytes], as: UTF8.self)) }
    }

    private static func values(
        _ text: String
    ) throws -> (values: [(key: String, span: SourceSpan)], bytes: [UInt8]) {
        let bytes = Array(text.utf8)
        let (format, window) = try ManifestFormat.open(
            ByteInput(bytes: bytes, name: "test"), limits: .init())
        #expect(format == .yaml)
        let cursor = try YAMLCursor(window, limits: .init(maximumEntrySize: 8 << 20))
        var found: [(key: String, span: SourceSpan)] = []
        func collect(_ value: ManifestValue, _ key: String) {
            switch value {
            case .string(_, let span): found.append((key, span))
            case .array(let elements): for element in elements { collect(element, key) }
            case .dictionary(let members):
                for member in members { collect(member.value, member.key) }
            default: break
            }
        }
        while try cursor.beginDocument() { collect(try cursor.take().get(), "") }
        return (found, bytes)
    }
}
