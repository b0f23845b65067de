import Foundation
import LarderTestSupport
import Testing

/// Entries that cannot be used, between two that can: those are fetched.
@Suite struct EntryErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let entry: ManifestEntry
        let code: String
        let reason: String

        var testDescription: String { "\(code): \(entry.keys.sorted())" }
    }

    static let cases = [
        Case(
            entry: ["icon": "javascript:alert(1)"], code: "unsupported-scheme",
            reason: "only http and https are fetched"),
        Case(
            entry: ["icon": "file:///etc/passwd"], code: "unsupported-scheme",
            reason: "only http and https are fetched"),
        Case(
            entry: ["icon": "ipfs://Qm1/icon.png"], code: "unsupported-scheme",
            reason: "'ipfs'"),
        Case(entry: ["icon": "http://[::1/icon.png"], code: "unparsable-url", reason: "not a URL"),
        Case(entry: ["icon": "icons/a.png"], code: "relative-url", reason: "no base URL"),
        Case(entry: ["icon": 42], code: "icon-not-a-string", reason: "an integer, not a string"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "priority": "urgent"], code: "bad-priority",
            reason: "'urgent'"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "integrity": "sha256-short"],
            code: "bad-integrity", reason: "sha256-short"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "sha256": "abc"], code: "bad-integrity",
            reason: "64 hexadecimal digits"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "size": -1], code: "bad-size",
            reason: "expected a byte count"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "key": 7], code: "bad-key",
            reason: "not a string"),
        Case(
            entry: [
                "icon": "http://127.0.0.1/", "more": String(repeating: "x", count: 2_000_000),
            ], code: "too-large", reason: "takes more than"),
    ]

    @Test(arguments: cases) func oneFailsAndTheOthersGoOn(_ bad: Case) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let manifest = try larder.manifest([["icon": urls[0]], bad.entry, ["icon": urls[1]]])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "failed", "fetched"])
            let line = try run.line(2)
            #expect(line.error?.code == bad.code)
            #expect(line.error?.message.contains(bad.reason) == true, "\(run.finished)")
            let complaint = run.finished.standardError
            #expect(complaint.contains("larder: \(manifest): entry 2:"), "\(run.finished)")
            #expect(complaint.contains("\(bad.code): "))
            #expect(larder.origin.count() == 2)
            #expect(try larder.status().objects == 2)
        }
    }

    @Test(arguments: [["name": "No icon"], ["icon": ""], ["icon": " \t"]] as [ManifestEntry])
    func oneWithoutAnIconIsSkipped(_ entry: ManifestEntry) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let run = try larder.prefetch(try larder.manifest([entry, ["icon": url]]))
            #expect(run.status == 0)
            #expect(run.outcomes == ["skipped", "fetched"])
            #expect(try run.line(1).error?.code == "no-icon")
            #expect(run.finished.standardError.isEmpty, "\(run.finished)")
        }
    }

    @Test func anElementThatIsNoDictionaryFails() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.write(#"[7, {"icon": "\#(url)"}]"#.utf8, to: "apps.json")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["failed", "fetched"])
            #expect(try run.line(1).error?.code == "not-a-dictionary")
        }
    }

    @Test func aLineThatDoesNotParseFailsAlone() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let lines = """
                {"name": "A", "icon": "\(urls[0])"}
                {"name": "B", "icon": }
                {"name": "C", "icon": "\(urls[1])"}
                """
            let manifest = try larder.write(lines.utf8, to: "apps.jsonl")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "failed", "fetched"])
            let error = try #require(run.line(2).error)
            #expect(error.code == "unparsable-line")
            #expect(error.message.hasPrefix("line 2: column 23: "), "\(error.message)")
            #expect(run.finished.standardError.contains("\(manifest): entry 2: unparsable-line"))
        }
    }
}
