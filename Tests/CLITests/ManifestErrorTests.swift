import Foundation
import LarderTestSupport
import Testing

/// Invalid manifests. The command makes no request, and its message names the file and the reason.
@Suite struct ManifestErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let bytes: [UInt8]
        let reason: String

        init(_ name: String, _ text: String, _ reason: String) {
            self.init(name, Array(text.utf8), reason)
        }

        init(_ name: String, _ bytes: [UInt8], _ reason: String) {
            testDescription = name
            self.bytes = bytes
            self.reason = reason
        }
    }

    static let cases = [
        Case("an empty file", "", "the file is empty"),
        Case("a blank file", " \n\t\n", "only white space"),
        Case("a truncated XML plist", truncated(ManifestFiles.xmlPlist), ": line "),
        Case("a truncated binary plist", truncated(ManifestFiles.binaryPlist), "truncated"),
        Case("a billion laughs", ManifestFiles.billionLaughs, "entit"),
        Case("an external entity", ManifestFiles.externalEntity, "entit"),
        Case(
            "JSON with two commas", #"{"apps": [{"name": "A", "icon": "http://a/"},,]}"#,
            "line 1, column 46: expected a value, found ','"),
        Case("truncated JSON", #"[{"name": "A", "icon": "http://a/"}"#, "line 1"),
        Case("an image", Icons.png, "the file is an image (PNG), not a manifest"),
        Case(
            "an HTML page", "<!DOCTYPE html><html></html>",
            "the file is an HTML page, not a manifest"),
        Case("plain text", "Calculator\nNotes\n", "the file is not a property list, JSON"),
        Case("a dictionary of unknown shape", #"{"things": []}"#, "use --entries and --icon-key"),
    ]

    @Test(arguments: cases) func prefetchRefusesAnInvalidManifest(_ broken: Case) async throws {
        try await withFixture { larder in
            let good = try larder.manifest(larder.origin.serveIcons(1)[0])
            let path = try larder.write(broken.bytes, to: "broken")
            let finished = try larder.run("prefetch", good, path, "--allow-private-network")
            #expect(finished.status == 65, "\(finished)")
            #expect(finished.standardError.hasPrefix("larder: \(path): "), "\(finished)")
            #expect(finished.standardError.contains(broken.reason), "\(finished)")
            #expect(finished.standardOutput.isEmpty)
            // All manifests are read before the first request.
            #expect(larder.origin.connectionsOpened == 0)
            // Expanding the nested entities of a "billion laughs" would take minutes and gigabytes.
            #expect(finished.duration < .seconds(20))
        }
    }

    @Test(arguments: cases) func planRefusesAnInvalidManifest(_ broken: Case) async throws {
        try await withFixture { larder in
            let path = try larder.write(broken.bytes, to: "broken")
            let finished = try larder.run("plan", path)
            #expect(finished.status == 65, "\(finished)")
            #expect(finished.standardError.contains(broken.reason), "\(finished)")
        }
    }

    @Test func errorsNameStandardInputAsADash() async throws {
        try await withFixture { larder in
            let finished = try larder.run("prefetch", "-", standardInput: Data("nonsense".utf8))
            #expect(finished.status == 65)
            #expect(finished.standardError.hasPrefix("larder: -: "), "\(finished)")
        }
    }

    @Test(arguments: ["prefetch", "plan"]) func aMissingManifestExitsWith66(
        _ command: String
    ) async throws {
        try await withFixture { larder in
            let path = larder.directory.path("missing.plist")
            let finished = try larder.run(command, path)
            #expect(finished.status == 66, "\(finished)")
            #expect(
                finished.standardError
                    == "larder: \(path): cannot open: No such file or directory\n")
        }
    }

    @Test func aDirectoryInsteadOfAManifestExitsWith66() async throws {
        try await withFixture { larder in
            let finished = try larder.run("prefetch", larder.directory.path)
            #expect(finished.status == 66, "\(finished)")
            #expect(finished.standardError.contains("Is a directory"), "\(finished)")
        }
    }

    @Test(.enabled(if: Nobody.isPossible, "requires setpriv, or a user other than root"))
    func aManifestThatTheUserCannotReadExitsWith66() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"))
            chmod(larder.directory.path, 0o755)
            chmod(manifest, 0o000)
            let finished = try Nobody.run(
                larder.binary, ["plan", manifest, "--cache", larder.cache])
            #expect(finished.status == 66, "\(finished)")
            #expect(
                finished.standardError == "larder: \(manifest): cannot open: Permission denied\n",
                "\(finished)")
        }
    }

    private static func truncated(_ bytes: [UInt8]) -> [UInt8] {
        Array(bytes.prefix(bytes.count * 2 / 3))
    }
}
