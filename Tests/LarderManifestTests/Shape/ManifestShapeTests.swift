import Foundation
import Testing

@testable import LarderManifest

/// The shapes of real-world manifests, and the icons read from each.
@Suite struct ManifestShapeTests {
    private static let a = "https://a.example"

    @Test(
        arguments: [
            (
                "plain", #"{"version":2,"apps":[{"name":"A","icon":"https://a.example/1"}]}"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "list with iconURL",
                #"{"name":"S","iconURL":"https://a.example/0","userinfo":{},"apps":[{"name":"A","iconURL":"https://a.example/1","size":9}],"news":[{"title":"n","imageURL":"x"}]}"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "iTunes Search results",
                #"{"resultCount":1,"results":[{"trackName":"A","artworkUrl512":"https://a.example/512","artworkUrl60":"https://a.example/60","artworkUrl100":"https://a.example/100"}]}"#,
                [
                    "1.1 A https://a.example/60", "1.2 A https://a.example/100",
                    "1.3 A https://a.example/512",
                ]
            ),
            (
                "Apple RSS entries",
                #"{"feed":{"author":{"name":{"label":"x"}},"entry":[{"im:name":{"label":"A"},"im:image":[{"label":"https://a.example/55","attributes":{"height":"55"}},{"label":"https://a.example/60","attributes":{"height":"60"}}]}]}}"#,
                ["1.1 A https://a.example/55", "1.2 A https://a.example/60"]
            ),
            (
                "Apple RSS entries",
                #"{"feed":{"entry":{"im:name":{"label":"A"},"im:image":[{"label":"https://a.example/55"}]}}}"#,
                ["1.1 A https://a.example/55"]
            ),
            (
                "Apple RSS results",
                #"{"feed":{"icon":"http://x.example/favicon.ico","links":[{"self":"x"}],"results":[{"name":"A","artworkUrl100":"https://a.example/100"}]}}"#,
                ["1.1 A https://a.example/100"]
            ),
            (
                "F-Droid index v1",
                #"{"repo":{"icon":"r.png","address":"https://a.example/repo"},"apps":[{"packageName":"o.a","name":"A","icon":"o.a.1.png","localized":{"en-US":{"icon":"i b.png"},"de":{"name":"D"}}},{"packageName":"o.b"}],"packages":{"o.a":[{"hash":"x"}]}}"#,
                [
                    "1.1 A https://a.example/repo/icons/o.a.1.png",
                    "1.2 A https://a.example/repo/o.a/en-US/i%20b.png", "2.1 o.b skipped",
                ]
            ),
            (
                "AppStream catalogue",
                #"<components><component><id>a</id><name>A</name><name xml:lang="de">D</name><icon type="remote">https://a.example/1</icon></component><component><id>b</id></component></components>"#,
                ["1.1 A https://a.example/1", "2.1 b skipped"]
            ),
            (
                "AppStream catalogue",
                #"<component><id>a</id><icon type="remote">https://a.example/1</icon></component>"#,
                ["1.1 a https://a.example/1"]
            ),
            (
                "Unraid template",
                #"<Container version="2"><Name>A</Name><Icon>https://a.example/1</Icon></Container>"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "Chocolatey package",
                #"<package xmlns="u"><metadata><id>a</id><iconUrl>https://a.example/1</iconUrl><title>A</title></metadata></package>"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "Flathub hits",
                #"{"hits":[{"name":"A","keywords":null,"icon":"https://a.example/1"}]}"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "list with logoURI",
                #"{"name":"L","logoURI":"ipfs://x","tokens":[{"name":"A","logoURI":"https://a.example/1"},{"name":"B"}]}"#,
                ["1.1 A https://a.example/1", "2.1 B skipped"]
            ),
            (
                "list with logoURI",
                #"[{"name":"B","chainId":1},{"name":"A","logoURI":"https://a.example/1"}]"#,
                ["1.1 B skipped", "2.1 A https://a.example/1"]
            ),
            (
                "template list",
                #"[{"title":"A","name":"a","logo":"https://a.example/1","image":"a:latest"}]"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "template list",
                #"{"version":"2","templates":[{"title":"A","logo":"https://a.example/1"}]}"#,
                ["1.1 A https://a.example/1"]
            ),
            (
                "list with thumb", #"{"apps":[{"name":"A","thumb":"https://a.example/1.png++"}]}"#,
                ["1.1 A https://a.example/1.png++"]
            ),
            (
                "plain",
                #"{"version":1,"o.a":{"name":"A","icon":"https://a.example/1"},"o.b":{"icon":"https://a.example/2"},"o.c":{"label":"C"},"x":[]}"#,
                ["1.1 A https://a.example/1", "2.1 o.b https://a.example/2", "3.1 o.c skipped"]
            ),
            (
                "list with logo", #"{"o.a":{"logo":"https://a.example/1"}}"#,
                ["1.1 o.a https://a.example/1"]
            ),
            (
                "web app manifest",
                #"{"short_name":"A","icons":[{"src":"./i/1.png","sizes":"48x48"},{"src":"2.png"}],"screenshots":[{"src":"s.png"}],"shortcuts":[{"name":"S","icons":[{"src":"/3.png"}]}],"icons_localized":{"de":[{"src":"4.png"}]}}"#,
                [
                    "1.1 S https://b.example/3.png", "2.1 A https://b.example/app/i/1.png",
                    "2.2 A https://b.example/app/2.png", "2.3 A https://b.example/app/4.png",
                ]
            ),
            (
                "web app manifest", #"{"name":"A","icons":[{"src":"1.png"}]}"#,
                ["1.1 A https://b.example/app/1.png"]
            ),
        ] as [(String, String, [String])])
    func manifestShapesAreRecognised(shape: String, text: String, icons: [String]) throws {
        for text in [text, "\u{FEFF}" + text.replacing(",", with: ",\r\n") + "\r\n"] {
            let reading = try readManifest(
                text, base: text.contains("src") ? "https://b.example/app/" : nil)
            #expect(reading.icons == icons)
            #expect(reading.places?.shape == shape)
            #expect(reading.summary?.format == (text.contains("</") ? .xml : .json))
        }
    }

    @Test func iconsOfInstallManifestsAreRead() throws {
        func asset(_ kind: String, _ url: String) -> String {
            "<dict><key>kind</key><string>\(kind)</string><key>url</key><string>\(url)</string></dict>"
        }
        func manifest(_ assets: String) -> String {
            xmlPlist(
                """
                <dict><key>items</key><array><dict><key>assets</key><array>\(assets)</array>
                <key>metadata</key><dict><key>title</key><string>A</string></dict></dict></array></dict>
                """)
        }
        let package = asset("software-package", "https://a.example/a.ipa")
        let image = asset("display-image", "https://a.example/57")
        let large = asset("full-size-image", "https://a.example/512")
        #expect(try readManifest(manifest(package + image)).icons == ["1.1 A https://a.example/57"])
        #expect(
            try readManifest(manifest(large + package)).icons == ["1.1 A https://a.example/512"])
        #expect(try readManifest(manifest(package)).icons == ["1.1 A skipped"])
    }

    @Test func digestsOfAnFDroidIndexV2AreRead() throws {
        let hex = String(repeating: "ab", count: 32)
        let text = """
            {"repo":{"name":{"en-US":"R"},"icon":{"en-US":{"name":"/icons/r.png"}},
              "address":"https://a.example/repo"},
             "packages":{"o.a":{"metadata":{"name":{"de":"D","en-US":"A"},
               "icon":{"en-US":{"name":"/o.a/en-US/i.png","sha256":"\(hex)","size":12}}},
               "versions":{}}}}
            """
        let reading = try readManifest(text)
        #expect(reading.icons == ["1.1 A https://a.example/repo/o.a/en-US/i.png"])
        #expect(reading.entries.first?.expectedDigest?.hex == hex)
        #expect(reading.entries.first?.expectedSize == 12)
        #expect(
            try readManifest(text, base: "https://mirror.example/fdroid").icons
                == ["1.1 A https://mirror.example/fdroid/o.a/en-US/i.png"])
    }

    @Test func thePlacesOfEntriesAreReported() throws {
        func places(_ text: String) throws -> [String] {
            try #require(try readManifest(text).places).entries.map(\.description)
        }
        let icon = #"{"icon":"https://a.example/1"}"#
        #expect(try places("[\(icon)]") == ["[*]"])
        #expect(try places(#"{"apps":[\#(icon)]}"#) == ["apps[*]"])
        #expect(try places(#"{"a":\#(icon),"b":\#(icon)}"#) == ["*"])
        #expect(try places(icon + "\n" + icon).isEmpty)
        let app = #"{"icons":[{"src":"1"}],"shortcuts":[{"icons":[{"src":"2"}]}]}"#
        #expect(try places(app) == ["shortcuts[*]", "@"])
    }

    @Test func shapesOfJSONLinesAreRecognised() throws {
        let line = #"{"title":"A","logo":"https://a.example/1"}"#
        let reading = try readManifest(line + "\n" + line)
        #expect(reading.summary == ManifestSummary(format: .jsonLines, entries: 2))
        #expect(reading.icons == ["1.1 A https://a.example/1", "2.1 A https://a.example/1"])
    }

    @Test(arguments: [
        #"[{"headline":"A","picture":"https://a.example/1"}]"#,
        #"{"things":[{"name":"A","picture":"https://a.example/1"}]}"#,
        "{\"headline\":\"A\",\"x\":1}\n{\"headline\":\"B\"}\n", #"{"a":{"b":1}}"#,
    ])
    func anErrorAboutAnUnknownShapeSuggestsOptions(text: String) throws {
        let error = try #require(try manifestError(text))
        #expect(error.code == .notAManifest)
        // The message has the options that read the manifest, or at least their names.
        #expect(error.reason.contains("--icon-key"))
    }

    @Test func anEmptySearchResultIsNotAnError() throws {
        #expect(try readManifest(#"{"resultCount":0,"results":[]}"#).summary?.entries == 0)
    }

    /// In the manifests of tutorials, this member is the size of the app.
    @Test func aHumanReadableSizeIsIgnored() throws {
        let reading = try readManifest(#"[{"icon":"https://a.example/1","size":"10.8M"}]"#)
        #expect(reading.entries.first?.expectedSize == nil && reading.errors.isEmpty)
    }

    @Test(arguments: [
        (
            IconSelection.all,
            ["1.1 A https://b.example/s", "1.2 A https://b.example/l", "1.3 A https://b.example/u"]
        ),
        (.largest, ["1.1 A https://b.example/l"]), (.smallest, ["1.1 A https://b.example/u"]),
        (.first, ["1.1 A https://b.example/s"]),
    ])
    func iconsAreSelectedBySize(icons: IconSelection, expected: [String]) throws {
        var rules = ManifestRules()
        rules.icons = icons
        let text = """
            {"name":"A","icons":[{"src":"s","sizes":"48x48 96x96"},{"src":"l","sizes":"any"},{"src":"u"}]}
            """
        #expect(try readManifest(text, base: "https://b.example/", rules: rules).icons == expected)
    }

    @Test(arguments: [(IconSelection.largest, "a"), (.smallest, "c")])
    func theFirstOfSeveralEqualIconsIsSelected(icons: IconSelection, expected: String) throws {
        var rules = ManifestRules()
        rules.icons = icons
        let sizes = [("a", 10), ("b", 10), ("c", 5), ("d", 5)]
        let list = sizes.map { #"{"src":"\#($0)","sizes":"\#($1)x\#($1)"}"# }.joined(separator: ",")
        let reading = try readManifest(
            #"{"name":"A","icons":[\#(list)]}"#, base: "https://b.example/", rules: rules)
        #expect(reading.icons == ["1.1 A https://b.example/\(expected)"])
    }

    /// A blank icon used to determine the shape, so that all other icons were skipped.
    @Test func aBlankIconDoesNotDetermineTheShape() throws {
        let reading = try readManifest(
            #"[{"icon":"","logoURI":"https://b.example/1"},{"logoURI":"https://b.example/2"}]"#)
        #expect(reading.words == ["https://b.example/1", "https://b.example/2"])
    }

    @Test func placesNamedByTheUserAreRead() throws {
        var rules = ManifestRules()
        rules.entries = ["data.list"]
        rules.nameKey = "label"
        rules.iconKeys = ["pictures.small", "pictures.big"]
        rules.priorityKey = "rank"
        rules.integrityKey = "hash"
        let hex = String(repeating: "0f", count: 32)
        let text = """
            {"apps":[{"icon":"https://x.example/"}],"data":{"list":[{"label":"A","rank":"high",
              "hash":"\(hex)","size":"big","pictures":{"small":"https://a.example/s"}}, {"label":"B"}]}}
            """
        let reading = try readManifest(text, rules: rules)
        #expect(reading.icons == ["1.1 A https://a.example/s", "2.1 B skipped"])
        #expect(reading.entries.first?.priority == 4)
        #expect(reading.entries.first?.expectedDigest?.hex == hex)
        rules.entries = ["nowhere"]
        #expect(throws: ManifestError.self) { try readManifest(text, rules: rules) }
    }

    /// The place of the entries does not determine the shape. The key of the icon does.
    @Test(arguments: [
        ("plain", #"{"list":[{"name":"A","icon":"https://a.example/1","priority":4}]}"#),
        ("list with logoURI", #"{"list":[{"name":"A","logoURI":"https://a.example/1"}]}"#),
        (
            "iTunes Search results",
            #"{"list":[{"trackName":"A","artworkUrl60":"https://a.example/1"}]}"#
        ),
        ("plain", #"{"list":[{"name":"B"},{"name":"A","icon":"https://a.example/1"}]}"#),
    ])
    func theShapeOfNamedEntriesFollowsFromTheirIcons(shape: String, text: String) throws {
        var rules = ManifestRules()
        rules.entries = ["list"]
        let reading = try readManifest(text, rules: rules)
        #expect(reading.places?.shape == shape)
        #expect(reading.entries.map { "\($0.name) \($0.icon)" } == ["A https://a.example/1"])
        #expect(reading.entries.first?.priority == (text.contains("priority") ? 4 : 0))
    }

    /// Names used to be read in one shape only.
    @Test func namesAreFoundIfTheIconKeyIsNamed() throws {
        let text =
            #"{"list":[{"name":"A","pic":"https://a.example/1"},{"title":"B","pic":"https://a.example/2"}]}"#
        var rules = ManifestRules()
        rules.entries = ["list"]
        rules.iconKeys = ["pic"]
        #expect(try readManifest(text, rules: rules).entries.map(\.name) == ["A", "B"])
    }

    @Test func entriesMayBeAtAnyNamedPlace() throws {
        var rules = ManifestRules()
        rules.entries = ["groups[*].apps"]
        let text = """
            {"groups":[{"apps":[{"icon":"https://a.example/1"}]},{"apps":[{"icon":"https://a.example/2"}]}]}
            """
        #expect(
            try readManifest(text, rules: rules).words == [
                "https://a.example/1", "https://a.example/2",
            ])
        rules.entries = ["$.*"]
        rules.iconKeys = ["@"]
        #expect(
            try readManifest(#"{"o.a":"https://a.example/1"}"#, rules: rules).icons
                == ["1.1 o.a https://a.example/1"])
    }

    /// In other shapes, such members describe the app.
    @Test func onlyThePlainFormHasAPriorityASizeAndAKey() throws {
        let text = """
            {"apps":[{"iconURL":"https://a.example/1","size":7,"priority":"urgent","key":1}]}
            """
        let entry = try #require(try readManifest(text).entries.first)
        #expect(entry.expectedSize == nil && entry.priority == 0 && entry.key == nil)
    }

    @Test func shapesAreTheSameInAllFormats() throws {
        let object: [String: Any] = [
            "repo": ["address": "https://a.example/repo"],
            "apps": [
                ["packageName": "o.a", "icon": "1.png", "localized": ["de": ["icon": "2.png"]]]
            ],
        ]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: object.filter { $0.key == "apps" }, format: format, options: 0)
            // Without the address, the shape is the plain form, whose icons are relative.
            #expect(try readManifest(.bytes(Array(data), name: "t")).words == ["relative"])
        }
        let map = ["o.a": ["logo": "https://a.example/1"], "o.b": ["logo": "https://a.example/2"]]
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: map, format: format, options: 0)
            let icons = try readManifest(.bytes(Array(data), name: "t")).words.sorted()
            #expect(icons == ["https://a.example/1", "https://a.example/2"])
        }
    }
}
