import Testing

@testable import LarderCore
@testable import LarderManifest

@Suite struct IconValueTests {
    static let cases: [(IconValue.Kind, [String])] = [
        (
            .url,
            [
                "https://a.example/a.png", "HTTP://a", " \n https://a\t", "ht\ntps://a", "https://",
                "http:a.png", "https://a:port/", "https://a/?q={{", "https://a/{w}x{h}/%7B%20",
                "https://a/{id}",
            ]
        ),
        (.data, ["data:,", "DATA:image/png;base64,!", "da\nta:,x", "data:,{{ x }}"]),
        (
            .relative,
            [
                "home", "icons/a.png", "./a.png", "../a", "/a.png", "//a.example/a.png", "?a",
                "a b.png",
                "my icon", "google-chrome", "org.gnome.Software", "sh-logo.png", "64x64/a.b.png",
                "foo@2x.png", "mdi-", ":rocket:", "Über", "🚀", "{size}.png", "{id}",
            ]
        ),
        (
            .iconSet,
            [
                "mdi:home", "hass:x", "material-symbols-light:10k-rounded", "simple-icons:github",
                " mdi:home ", "fas fa-home", "fa-solid fa-x", "fa fa-2x fa-spin", "fa-home",
                "mdi mdi-home", "bi bi-x-lg", "si-github", "sh-immich", "hl-plex",
                "mdi-flask-#f0d453",
            ]
        ),
        (
            .template,
            [
                "{{ .Values.icon }}", "https://a/{{Name}}.png", "${ICON}", "https://a/${x}",
                "{% if a %}b{% endif %}", "<%= icon %>", "{{ \"{\" }}", "https://a/{w}/{f}",
                "https://a/%size%.png", "mdi:{{ name }}", "[[[ return a ]]]",
            ]
        ),
        (
            .otherScheme,
            [
                "file:///etc/passwd", "ipfs://Qm/a", "ipfs:Qm", "content://a",
                "javascript:alert(1)",
                "javascript:x", "ftp://a/", "mailto:a", "C:\\a.png", "c:a", "localhost:8080",
                "a.b:c", "Mdi:home", "mdi:", "mdi:a.svg", "mdi:a/b", "urn:x",
            ]
        ),
        (.empty, ["", " ", "\n\t", "\u{A0}"]),
    ]

    @Test(arguments: cases)
    func theKindOfAValueIsDecidedByItsBytes(kind: IconValue.Kind, texts: [String]) {
        for text in texts {
            let value = IconValue(text, at: SourceSpan(3..<7))
            #expect(value.kind == kind, "\(text)")
            #expect(value.text == text && value.span == 3..<7)
        }
    }

    /// A base URL resolves only relative names.
    @Test func aBaseURLDoesNotChangeTheKind() throws {
        let text = #"[{"icon":"a.png"},{"icon":"mdi:home"},{"icon":"si-github"},{"icon":"x:y/z"}]"#
        let reading = try readManifest(text, base: "https://b.example/")
        #expect(
            reading.words == ["https://b.example/a.png", "icon-set", "icon-set", "other-scheme"])
        #expect(
            reading.items.map { $0.value?.kind }
                == [.relative, .iconSet, .iconSet, .otherScheme])
    }

    @Test func namesInAnIndexOfFDroidAreRelative() throws {
        let text = """
            {"repo":{"address":"https://a.example"},"apps":[{"packageName":"p","icon":"mdi:home"}]}
            """
        let reading = try readManifest(text)
        #expect(reading.words == ["https://a.example/icons/mdi:home"])
        #expect(reading.items.first?.value?.kind == .relative)
    }

    /// The icons are in the order of the options, but the values in that of the manifest.
    @Test func valuesAreInDocumentOrder() throws {
        var rules = ManifestRules()
        rules.iconKeys = ["big", "list[*].src"]
        rules.icons = .first
        let text = """
            [{"list":[{"src":"b"},{"src":7},{"src":""}],"big":"a"},{"big":"a"},{"name":"none"},7]
            """
        var found: [String] = []
        var items: [String?] = []
        _ = try ManifestReader(source: .bytes(Array(text.utf8), name: "test"), rules: rules).read(
            opened: { _ in },
            values: { position, values in
                for value in values {
                    let token = Array(text.utf8)[value.span]
                    found.append("\(position) \(String(decoding: token, as: UTF8.self))")
                }
            }
        ) { items.append($0.value?.text) }
        #expect(found == [#"1 "b""#, #"1 """#, #"1 "a""#, #"2 "a""#])
        #expect(items == ["a", "a", nil, nil])
    }

    @Test(arguments: [
        ("https://u:p@a/?token=1&b=2", "https://***@a/?token=***&b=2"),
        ("https://a/gh/x@main/a@2x.png?v=1", "https://a/gh/x@main/a@2x.png?v=1"),
        ("icons/a@2x.png", "icons/a@2x.png"), ("ftp://u:p@a/", "ftp://***@a/"),
        ("https://u:p/p@a/", "https://***@a/"), ("data:,u:p@a", "data:,u:p@a"),
    ])
    func secretsAreNotShown(text: String, shown: String) {
        #expect(IconValue(text, at: .unknown).shownText == shown)
    }

    @Test func theQueryOfAnEntryWithAKeyIsNotShown() throws {
        let text = #"[{"icon":"https://a.example/a?x=1","key":"a"}]"#
        #expect(try readManifest(text).items.first?.value?.shownText == "https://a.example/a?***")
    }
}
