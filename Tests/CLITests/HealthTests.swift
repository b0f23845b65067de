import Foundation
import GRDB
import LarderTestSupport
import Testing

/// `plan --health`, which reports problems of a catalogue and its icons.
@Suite struct HealthTests {
    private struct Finding: Decodable, Hashable {
        let kind: String
        let position: Int
    }

    /// Returns the findings, and the last line of the report.
    private func findings(
        _ finished: Finished
    ) throws -> (all: Set<Finding>, last: [String: JSONValue]) {
        let lines = finished.standardOutputBytes.split(separator: UInt8(ascii: "\n"))
        let findings = try lines.dropLast().map {
            try JSONDecoder().decode(Finding.self, from: Data($0))
        }
        let last = try #require(JSONValue.lines(finished.standardOutputBytes).last)
        #expect(Set(findings).count == findings.count, "\(finished)")
        return (Set(findings), last)
    }

    private func places(_ kind: String, in findings: Set<Finding>) -> [Int] {
        findings.filter { $0.kind == kind }.map(\.position).sorted()
    }

    /// Writes a catalogue with problems of each kind, and prefetches most of it.
    private func prefetched(_ larder: CLIFixture) throws -> String {
        let origin = larder.origin
        let large = IconPainter.png(seed: 7, size: 300)
        origin.on("/large", .ok(large, type: "image/png"))
        origin.on("/copy", .ok(large, type: "image/png"))
        origin.on("/small", .ok(Icons.png, type: "image/png"))
        origin.on("/page", .ok("<html></html>"))
        origin.on("/gone", .status(404))
        var entries: [ManifestEntry] = [
            ["name": "Large", "icon": origin.url("/large")],
            ["name": "Copy", "icon": origin.url("/copy")],
            ["name": "Small", "icon": origin.url("/small")],
            ["name": "Small again", "icon": origin.url("/small")],
            ["name": "Page", "icon": origin.url("/page")],
            ["name": "Gone", "icon": origin.url("/gone")],
            ["name": "None"], ["name": "Wrong", "icon": "https://"],
        ]
        _ = try larder.prefetch(try larder.manifest(entries))
        entries.append(["name": "New", "icon": "https://icons.example/new.png"])
        return try larder.manifest(entries)
    }

    @Test func healthShowsEachKindOfProblem() async throws {
        try await withFixture { larder in
            let manifest = try prefetched(larder)
            larder.origin.resetLog()
            let finished = try larder.run(
                "plan", manifest, "--health", "--json", "--shown-size", "70")
            #expect(finished.status == 0, "\(finished)")
            let (all, last) = try findings(finished)
            #expect(places("no-icon", in: all) == [7])
            #expect(places("failed", in: all) == [6, 8])
            #expect(places("missing", in: all) == [9])
            #expect(places("not-an-image", in: all) == [5])
            #expect(places("identical", in: all) == [2])
            #expect(places("insecure", in: all) == [1, 2, 3, 4, 5, 6])
            // 300 pixels are more than twice 70 points with 2 pixels each.
            #expect(places("oversized", in: all) == [1, 2])
            // An entry without an icon is not an icon.
            #expect(last["entries"] == .integer(9) && last["icons"] == .integer(8))
            #expect(last["own_host"] == .string("127.0.0.1"))
            #expect(last["third_party"] == .object(["icons.example": .integer(1)]))
            #expect(last["findings"]?.object?["third-party"] == .integer(1))
            #expect(larder.origin.count() == 0)
            let atScale = try larder.run(
                "plan", manifest, "--health", "--json", "--shown-size", "50", "--scale", "3")
            #expect(places("oversized", in: try findings(atScale).all).isEmpty)
        }
    }

    /// The report must not contain the time since an event.
    @Test func theSameCacheGivesTheSameReportLater() async throws {
        try await withFixture { larder in
            let manifest = try prefetched(larder)
            func reports() throws -> [String] {
                try ["text", "json", "junit"].map { format in
                    let finished = try larder.run("plan", manifest, "--health", "--format", format)
                    #expect(finished.standardOutput.contains("status 404"), "\(finished)")
                    return finished.standardOutput
                }
            }
            let first = try reports()
            let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
            try await index.write { db in
                try db.execute(sql: "UPDATE failures SET failed_at = failed_at - 100000")
            }
            try index.close()
            #expect(try reports() == first)
        }
    }

    @Test func aMissingIconIsComparedOnlyWithARequirement() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest([
                ["icon": "https://a.example/1"],
                ["icon": "https://a.example/2", "sha256": String(repeating: "a", count: 64)],
                ["icon": "https://a.example/3", "size": 7],
            ])
            let finished = try larder.run("plan", manifest, "--health", "--json")
            let messages = try JSONValue.lines(finished.standardOutputBytes)
                .compactMap { $0["message"]?.string }
            let demanded = "not in the cache, or not as the manifest requires"
            #expect(messages == ["not in the cache", demanded, demanded], "\(finished)")
        }
    }

    /// The content of such an icon is known even if it is not in the cache.
    @Test func aDataURLMayNotBeAnImage() async throws {
        try await withFixture { larder in
            let png = "data:image/png;base64,\(Data(Icons.png).base64EncodedString())"
            let manifest = try larder.manifest([
                ["icon": "data:text/html,hi"], ["icon": "data:text/html,hi"], ["icon": png],
            ])
            let finished = try larder.run("plan", manifest, "--health", "--json")
            let (all, _) = try findings(finished)
            #expect(places("not-an-image", in: all) == [1, 2], "\(finished)")
            #expect(places("missing", in: all) == [3], "\(finished)")
        }
    }

    @Test func subdomainsOfTheOwnHostAreNotThirdParty() async throws {
        try await withFixture { larder in
            let hosts = [
                "apps.example", "apps.example", "apps.example.", "cdn.apps.example",
                "a.cdn.apps.example", "notapps.example", "example", "apps.example.com",
                "apps.example.com",
            ]
            let manifest = try larder.manifest(
                urls: hosts.enumerated().map { "https://\($1)/\($0).png" })
            let finished = try larder.run("plan", manifest, "--health", "--json")
            let (_, last) = try findings(finished)
            #expect(last["own_host"] == .string("apps.example"))
            let others = ["apps.example.com": 2, "example": 1, "notapps.example": 1]
            #expect(last["third_party"] == .object(others.mapValues { .integer($0) }))
            #expect(last["findings"]?.object?["third-party"] == .integer(3))
        }
    }

    @Test func healthFailsOnlyForTheGivenKinds() async throws {
        try await withFixture { larder in
            let manifest = try prefetched(larder)
            for (kinds, status) in [
                ("missing", 2), ("identical,no-icon", 2), ("third-party", 2),
                ("oversized", 0),
            ] as [(String, Int32)] {
                let finished = try larder.run(
                    "plan", manifest, "--health", "--quiet", "--fail-on", kinds,
                    "--shown-size", "1000")
                #expect(finished.status == status, "\(kinds): \(finished)")
                #expect(finished.standardOutput.split(separator: "\n").count == 1)
            }
        }
    }

    @Test(arguments: [["missing", "oversized"], ["oversized", "missing"]])
    func severalOptionsNameTheKindsOfAll(_ kinds: [String]) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest("https://a.example/1")
            let options = kinds.flatMap { ["--fail-on", $0] }
            let finished = try larder.run(
                arguments: ["plan", manifest, "--health", "--shown-size", "60"] + options)
            #expect(finished.status == 2, "\(finished)")
        }
    }

    /// Catalogues advertise cached icons that their archives lack.
    @Test(arguments: ["icons", "icons/128x128"])
    func healthShowsExactlyTheCachedIconsThatADirectoryLacks(directory: String) async throws {
        try await withFixture { larder in
            try FileManager.default.createDirectory(
                atPath: larder.directory.path("icons/128x128"), withIntermediateDirectories: true)
            let present = [1, 4, 6]
            let components = (1...8).map { number in
                let name = "org.example.App\(number).desktop"
                return """
                    <component type="desktop-application"><id>\(name)</id>
                    <icon type="stock">\(name)</icon>
                    <icon type="cached" height="128" width="128">\(name).png</icon></component>
                    """
            }
            for number in present {
                _ = try larder.write(
                    IconPainter.png(seed: number),
                    to: "icons/128x128/org.example.App\(number).desktop.png")
            }
            _ = try larder.write("text".utf8, to: "icons/128x128/org.example.App8.desktop.png")
            let manifest = try larder.write(
                "<components>\(components.joined())</components>".utf8, to: "appstream.xml")
            let finished = try larder.run(
                "plan", manifest, "--health", "--json", "--fail-on", "missing",
                "--icon-files", larder.directory.path(directory))
            #expect(finished.status == 2, "\(finished)")
            let (all, _) = try findings(finished)
            let missing = [2, 3, 5, 7].map { Finding(kind: "missing", position: $0) }
            #expect(all == Set(missing + [Finding(kind: "not-an-image", position: 8)]))
        }
    }

    /// These catalogues omit the extension `.png`, or the directory with the entry's name.
    @Test(arguments: [
        (munki("First", "Second", "A 1.5"), "First.png"),
        (kodi("first", "second"), "first/icon.png"),
    ])
    func filesHaveTheNamesThatTheCatalogueImplies(catalogue: String, file: String) async throws {
        try await withFixture { larder in
            try FileManager.default.createDirectory(
                atPath: larder.directory.path("icons/first"), withIntermediateDirectories: true)
            _ = try larder.write(Icons.png, to: "icons/" + file)
            _ = try larder.write(Icons.png, to: "icons/A 1.5")
            let manifest = try larder.write(catalogue.utf8, to: "catalogue")
            let finished = try larder.run(
                "plan", manifest, "--health", "--json", "--icon-files",
                larder.directory.path("icons"))
            let (all, _) = try findings(finished)
            #expect(places("missing", in: all) == [2], "\(finished)")
        }
    }

    private static func munki(_ names: String...) -> String {
        let apps = names.map { name in
            """
            <dict><key>catalogs</key><array><string>production</string></array>
            <key>name</key><string>\(name)</string><key>version</key><string>1.0</string></dict>
            """
        }
        return "<plist version='1.0'><array>\(apps.joined())</array></plist>"
    }

    private static func kodi(_ ids: String...) -> String {
        let addons = ids.map { id in
            """
            <addon id='\(id)' name='App'>
            <extension><assets><icon>icon.png</icon></assets></extension></addon>
            """
        }
        return "<addons>\(addons.joined())</addons>"
    }

    @Test func namesOfFilesDoNotLeadOutOfTheDirectory() async throws {
        try await withFixture { larder in
            _ = try larder.write(Icons.png, to: "outside.png")
            try FileManager.default.createDirectory(
                atPath: larder.directory.path("icons"), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(
                atPath: larder.directory.path("icons/link.png"),
                withDestinationPath: "../outside.png")
            let manifest = try larder.manifest(
                "../outside.png", "link.png", "./in.png", "icons/", "mdi:home")
            _ = try larder.write(Icons.png, to: "icons/in.png")
            let finished = try larder.run(
                "plan", manifest, "--health", "--json", "--icon-files",
                larder.directory.path("icons"))
            let (all, last) = try findings(finished)
            // Icons that are files count as read.
            #expect(last["unfetched"] == .object(["icon-set": .integer(1)]))
            #expect(
                all == [
                    Finding(kind: "missing", position: 1), Finding(kind: "failed", position: 2),
                    Finding(kind: "missing", position: 4),
                ])
            let absent = try larder.run(
                "plan", manifest, "--health", "--icon-files", larder.directory.path("absent"))
            #expect(absent.status == 66)
        }
    }

    @Test func aDirectoryWithoutARelativeIconIsNamed() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest("https://a.example/1")
            let finished = try larder.run(
                "plan", manifest, "--health", "--icon-files", larder.directory.path("."))
            #expect(finished.status == 0)
            #expect(finished.standardError.contains("--icon-files: no icon"), "\(finished)")
        }
    }

    @Test func aJUnitReportHasTheStructureOfTheFormat() async throws {
        try await withFixture { larder in
            _ = try prefetched(larder)
            let hostile = "\u{1}\u{1B}[2J<&\"'>\u{FFFE}\u{202E}]]>\u{301}"
            let manifest = try larder.manifest([
                ["name": hostile, "icon": larder.origin.url("/gone")],
                ["name": hostile, "icon": "https://\(hostile)/"], ["name": hostile],
                ["icon": "mdi:home"], ["icon": "mdi:away"], ["icon": "a.png"],
            ])
            let finished = try larder.run(
                "plan", manifest, "--health", "--format", "junit", "--fail-on", "failed,no-icon")
            #expect(finished.status == 2, "\(finished)")
            let report = try JUnitReport(finished.standardOutputBytes)
            #expect(report.problems.isEmpty, "\(report.problems)\n\(finished)")
            #expect(report.suites["failed"] == JUnitReport.Suite(tests: 2, failures: 2, skipped: 0))
            #expect(
                report.suites["no-icon"] == JUnitReport.Suite(tests: 1, failures: 1, skipped: 0))
            #expect(
                report.suites["insecure"] == JUnitReport.Suite(tests: 1, failures: 0, skipped: 1))
            // A kind without findings is a passed test.
            #expect(
                report.suites["missing"] == JUnitReport.Suite(tests: 1, failures: 0, skipped: 0))
            // Each kind of icon that is never fetched is a skipped test.
            #expect(
                report.suites["unfetched"] == JUnitReport.Suite(tests: 2, failures: 0, skipped: 2))
            #expect(report.suites.count == 9)
            #expect(!finished.standardOutput.contains("\u{1B}"))
        }
    }

    @Test func textOfAManifestIsSafeToPrint() async throws {
        try await withFixture { larder in
            let name = "\u{1B}[2J\u{202E}name"
            let manifest = try larder.manifest([
                ["name": name], ["name": name, "icon": "https://a.example/a"],
            ])
            for options in [[], ["--json"]] {
                let finished = try larder.run(
                    arguments: ["plan", manifest, "--health"] + options)
                #expect(!finished.standardOutput.contains("\u{1B}"))
                #expect(!finished.standardOutput.contains("\u{202E}"))
                #expect(finished.standardOutput.contains("name"))
            }
        }
    }
}
