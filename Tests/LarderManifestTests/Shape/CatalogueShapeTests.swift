import Foundation
import Testing

@testable import LarderCore
@testable import LarderManifest

/// The files of `Tests/Catalogues`, written for these tests in the documented shapes. The names of
/// files that only look similar to a catalogue start with `other-`.
@Suite struct CatalogueShapeTests {
    private static let directory = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().appendingPathComponent("../../Catalogues").path

    struct Expected: Sendable {
        let file: String
        let shape: String
        var icons: [String] = []
    }

    private static func files() -> [String] {
        ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [])
            .filter { $0 != "expected.txt" }.sorted()
    }

    /// Lines `FILE: SHAPE`, each followed by the icons as in ``ManifestReading/icons``.
    private static func expected() -> [Expected] {
        let text = try? String(contentsOfFile: "\(directory)/expected.txt", encoding: .utf8)
        var all: [Expected] = []
        for line in (text ?? "").split(separator: "\n") {
            if line.hasPrefix("  ") {
                all[all.count - 1].icons.append(String(line.dropFirst(2)))
            } else {
                let parts = line.components(separatedBy: ": ")
                all.append(Expected(file: parts[0], shape: parts[1]))
            }
        }
        return all
    }

    private func source(_ file: String) -> ManifestSource { .file("\(Self.directory)/\(file)") }

    @Test func everyFileHasAnExpectation() {
        let files = Self.files()
        #expect(files.count >= 60)
        #expect(files.count { $0.hasPrefix("other-") } >= 10)
        #expect(Self.expected().map(\.file) == files.filter { !$0.hasPrefix("other-") })
    }

    @Test(arguments: expected()) func cataloguesAreRecognisedWithoutOptions(_ expected: Expected)
        throws
    {
        let reading = try readManifest(source(expected.file))
        #expect(reading.places?.shape == expected.shape)
        #expect(reading.icons == expected.icons)
        #expect(reading.errors.isEmpty)
    }

    /// `localize` replaces these bytes.
    @Test(arguments: expected()) func iconsHaveTheirPlacesInTheFile(_ expected: Expected) throws {
        let path = "\(Self.directory)/\(expected.file)"
        let bytes = Array(try Data(contentsOf: URL(fileURLWithPath: path)))
        for item in try readManifest(source(expected.file)).items {
            guard let value = item.value, !value.text.utf8.contains(UInt8(ascii: "&")) else {
                continue
            }
            // A name by convention is not a value to replace.
            if value.span.isEmpty {
                #expect(item.name == "Player" || expected.shape == "Munki icon hashes")
            } else {
                #expect(String(decoding: bytes[value.span], as: UTF8.self).contains(value.text))
            }
        }
    }

    @Test(arguments: files().filter { $0.hasPrefix("other-") })
    func similarFilesAreNotRecognised(file: String) throws {
        do {
            let reading = try readManifest(source(file))
            #expect(reading.places == nil)
            #expect(reading.words.allSatisfy { $0 == "skipped" })
        } catch let error as ManifestError {
            #expect(error.code == .notAManifest)
        }
    }

    @Test(arguments: [
        (
            "munki-catalog.plist",
            [
                "https://a.example/repo/icons/Editor-3.png",
                "https://a.example/repo/icons/viewers/Viewer.png",
                "https://a.example/repo/icons/Player.png",
            ]
        ),
        (
            "munki-icon-hashes.plist",
            [
                "https://a.example/repo/icons/Editor-3.png",
                "https://a.example/repo/icons/viewers/Viewer.png",
            ]
        ),
        (
            "kodi-addons.xml",
            [
                "https://a.example/repo/icons/plugin.video.notes/resources/icon.png", "skipped",
            ]
        ),
        ("kodi-addon.xml", ["https://a.example/repo/icons/icon.png"]),
        (
            "umbrel-app.yml",
            [
                "https://a.example/repo/icons/example-photos/1.jpg",
                "https://a.example/repo/icons/example-photos/2.jpg",
            ]
        ),
    ])
    func namesAreRelativeToTheBaseURL(file: String, icons: [String]) throws {
        let reading = try readManifest(source(file), base: "https://a.example/repo/icons/")
        #expect(reading.words == icons)
    }

    /// Munki's clients look for icons next to the directory of the catalogue.
    @Test func iconsOfAMunkiCatalogueAreNextToIt() throws {
        let reading = try readManifest(
            source("munki-catalog.plist"), base: "https://a.example/repo/catalogs/all")
        #expect(reading.words.last == "https://a.example/repo/icons/Player.png")
    }

    @Test(arguments: [
        ("munki-catalog.plist", 1), ("munki-icon-hashes.plist", 2), ("winget-locale.yaml", 1),
        ("fdroid-index-v2.json", 1), ("helm-index.yaml", 0),
    ])
    func digestsOfIconsAreDemanded(file: String, count: Int) throws {
        let reading = try readManifest(source(file), base: "https://a.example/")
        #expect(reading.entries.count { $0.expectedDigest != nil } == count)
    }

    @Test func anInvalidDigestIsNamedAsInTheCatalogue() throws {
        let reading = try readManifest(
            """
            PackageIdentifier: Example.Editor
            Icons:
            - IconUrl: https://a.example/1.png
              IconSha256: 12ab
            - IconUrl: https://a.example/2.png
              IconSha256: ''
            """)
        #expect(reading.ignored == ["IconSha256 1 1"])
        #expect(reading.errors.first?.code == .badIntegrity)
        #expect(reading.errors.first?.message.hasPrefix("IconSha256 is") == true)
    }

    /// The base URL in a catalogue applies to remote icons only.
    @Test(arguments: ["dep11.yml", "appstream-catalog.xml"])
    func cachedAndStockIconsAreNotFetched(file: String) throws {
        let reading = try readManifest(
            .url(try HTTPURL("https://lists.example/apps/\(file)")) { _ in
                OpenedManifest(
                    descriptor: open("\(Self.directory)/\(file)", O_RDONLY | O_CLOEXEC),
                    baseURL: try HTTPURL("https://lists.example/apps/\(file)"))
            })
        #expect(reading.words.contains("relative") && reading.words.contains("icon-set"))
        #expect(
            reading.entries.allSatisfy {
                $0.icon.string.hasPrefix("https://media.example/pool/")
                    || $0.icon.string.hasPrefix("https://icons.example/")
            })
    }

    /// Several catalogues can be in one stream.
    @Test func aBaseURLAppliesUntilTheNextOne() throws {
        let documents = ["one", "two"].map { name in
            """
            ---
            File: DEP-11
            MediaBaseUrl: https://\(name).example/pool
            ---
            Type: desktop-application
            ID: org.example.App
            Icon: {remote: [{url: a.png}]}

            """
        }
        let reading = try readManifest(documents.joined())
        #expect(
            reading.entries.map(\.icon.string)
                == ["https://one.example/pool/a.png", "https://two.example/pool/a.png"])
    }

    /// The icons of a group belong to different apps.
    @Test func iconsOfAGroupAreNotSelectedBySize() throws {
        var rules = ManifestRules()
        rules.icons = .first
        #expect(try readManifest(source("dashy.yml"), rules: rules).items.count == 5)
        #expect(try readManifest(source("casaos-compose.yml"), rules: rules).items.count == 1)
    }

    @Test(arguments: [
        "apiVersion: v1\nentries: {}", "sections: []", "landscape:\n- subcategories: [{items: []}]",
    ])
    func aCatalogueMayHaveNoEntries(text: String) throws {
        #expect(try readManifest(text).summary?.entries == 0)
    }

    @Test(arguments: [
        ("RSS", "<rss><channel><item><title>A</title></item></channel></rss>"),
        ("RSS", "<rdf:RDF xmlns:rdf='r'><item><title>A</title></item></rdf:RDF>"),
        ("Atom", "<feed><entry><updated>2026-01-02T03:04:05Z</updated></entry></feed>"),
        ("OPML", "<opml><body><outline xmlUrl='https://a.example/feed'/></body></opml>"),
    ])
    func aFeedMayHaveNoIcons(shape: String, text: String) throws {
        let source = ManifestSource.bytes(Array(text.utf8), name: "test")
        let summary = try ManifestReader(source: source).read { _ in }
        #expect(summary.places?.shape == shape)
        #expect(summary.refusal(of: source) == nil)
    }

    @Test(arguments: [
        "<feed><entry><title>A</title></entry></feed>",
        "<opml><body><outline text='A' url='https://a.example'/></body></opml>",
    ])
    func aSimilarFileHasToHaveIcons(text: String) throws {
        #expect(try manifestError(text)?.code == .notAManifest)
    }

    /// Entries before the first fitting entry are held, up to the size of an entry.
    @Test(arguments: [1, 64, 65]) func theFirstEntriesNeedNotFit(count: Int) throws {
        let none = Array(repeating: #"{"name":"A"}"#, count: count).joined(separator: ",")
        let text = #"{"tokens":[\#(none),{"name":"B","logoURI":"https://b.example/b.png"}]}"#
        if count < 65 {
            let reading = try readManifest(text)
            #expect(reading.places?.shape == "list with logoURI")
            #expect(reading.icons.count == count + 1)
            #expect(reading.icons.last == "\(count + 1).1 B https://b.example/b.png")
        } else {
            #expect(throws: ManifestError.self) { try readManifest(text) }
        }
    }

    /// A catalogue's description has no entries.
    @Test func aMapNextToScalarsHasNames() throws {
        func text(_ name: String) -> String {
            """
            url: https://a.example
            footer: {\(name): F, logo: "https://a.example/f.svg"}
            header: {logo: "https://a.example/h.svg"}
            """
        }
        #expect(try readManifest(text("name")).icons.count == 2)
        #expect(throws: ManifestError.self) { try readManifest(text("text")) }
    }

    @Test func anEntryWithoutIconsIsReported() throws {
        func words(_ member: String) throws -> [String] {
            let text = #"{"entries":{"a":[{"name":"A","version":"1","urls":["a.tgz"]\#(member)}]}}"#
            let source = ManifestSource.bytes(Array(text.utf8), name: "test")
            let summary = try ManifestReader(source: source).read { _ in }
            #expect(summary.refusal(of: source) == nil)
            return summary.warnings(of: source) + summary.notes(of: source)
        }
        #expect(
            try words("") == [
                "test: the only entry has no icon; --icon-template builds URLs from other members"
            ])
        let logo = try words(#","logo":"https://a.example/1.png""#)
        #expect(logo.first?.hasPrefix("test: the only entry has no icon; 1 icon found") == true)
        // The entry that is nested too deep may have an icon.
        let others = String(repeating: #"},{"logo":"https://a.example/1.png""#, count: 10)
        let deep = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
        let some = try words(#"\#(others)},{"x":\#(deep)"#)
        #expect(some.first?.hasPrefix("test: no readable entry has an icon; 10 icons") == true)
    }

    /// Elsewhere, such members may be the digests of any files.
    @Test func digestsByIconNameAreReadInPropertyListsOnly() throws {
        let hex = String(repeating: "ab", count: 32)
        for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
            let data = try PropertyListSerialization.data(
                fromPropertyList: ["Editor.png": hex], format: format, options: 0)
            let reading = try readManifest(.bytes(Array(data), name: "test"))
            #expect(reading.places?.shape == "Munki icon hashes")
        }
        for text in [#"{"Editor.png":"\#(hex)"}"#, "Editor.png: \(hex)"] {
            #expect(throws: ManifestError.self) { try readManifest(text) }
        }
    }

    @Test func iconsAtAnyDepthAreNotSuggestedAgain() throws {
        let reading = try readManifest(
            """
            name: Apps
            children:
            - name: Community
              children:
              - {name: Wiki, icon: wiki.png, data: {url: "https://wiki.example/"}}
              - {name: Status, icon: status.png, data: {url: "https://status.example/"}}
            """)
        #expect(reading.words == ["relative", "relative"])
        #expect(reading.suggestions == [])
    }

    @Test func laterEntriesNeedNoIcon() throws {
        let reading = try readManifest(
            """
            services:
            - name: A
              items:
              - {name: B, url: https://b.example}
            - name: C
              items:
              - {name: D, logo: https://d.example/d.png}
            """)
        #expect(reading.icons == ["1.1 A skipped", "2.1 D https://d.example/d.png"])
    }
}
