import Foundation
import LarderTestSupport
import Testing

/// Unusable entries. The icons of the other entries are still fetched.
@Suite struct EntryErrorTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let entry: ManifestEntry
        let code: String
        let reason: String

        var testDescription: String { "\(code): \(entry.keys.sorted())" }
    }

    static let cases = [
        Case(entry: ["icon": "http://[::1/icon.png"], code: "unparsable-url", reason: "not a URL"),
        Case(entry: ["icon": 42], code: "icon-not-a-string", reason: "an integer, not a string"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "integrity": "sha256-short"],
            code: "bad-integrity", reason: "sha256-short"),
        Case(
            entry: ["icon": "http://127.0.0.1/", "sha256": "abc"], code: "bad-integrity",
            reason: "64 hexadecimal digits"),
        Case(
            entry: [
                "icon": "http://127.0.0.1/", "more": String(repeating: "x", count: 2_000_000),
            ], code: "too-large", reason: "the entry has more than"),
    ]

    @Test(arguments: cases)
    func anUnusableEntryFailsAndTheOthersAreFetched(_ bad: Case) async throws {
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

    @Test(arguments: [
        ("javascript:alert(1)", "other-scheme", "a scheme other than"),
        ("file:///etc/passwd", "other-scheme", "a scheme other than"),
        ("ipfs://Qm1/icon.png", "other-scheme", "--ipfs-gateway"),
        ("icons/a.png", "relative", "--base-url"), ("mdi:home", "icon-set", "icon in a set"),
        ("http://127.0.0.1/{w}x{h}{c}.{f}", "template", "a template"),
    ])
    func anIconThatIsNeverFetchedIsSkipped(_ icon: String, _ code: String, _ reason: String)
        async throws
    {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            let run = try larder.prefetch(try larder.manifest(urls[0], icon, urls[1]))
            #expect(run.status == 0 && run.finished.standardError.isEmpty, "\(run.finished)")
            #expect(run.outcomes == ["fetched", "skipped", "fetched"])
            let error = try #require(run.line(2).error)
            #expect(error.code == code)
            #expect(error.message.contains("'\(icon)'") && error.message.contains(reason))
        }
    }

    /// Members with unusable values are ignored, with one message for each kind.
    @Test func unusableOptionalMembersDoNotBlockAnIcon() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest([
                ["icon": urls[0]],
                ["icon": urls[1], "size": "12.5 kB", "priority": "medium", "key": 7],
                ["icon": urls[2], "size": [64, 64], "sha256": "", "integrity": false],
            ])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0)
            #expect(run.outcomes == ["fetched", "fetched", "fetched"])
            let lines = run.finished.standardError.split(separator: "\n")
            #expect(lines.count == 5, "\(run.finished)")
            #expect(
                lines.contains(
                    "larder: \(manifest): 'size' is not a byte count and was ignored 2 times,"
                        + " first in entry 2"), "\(run.finished)")
            let quiet = try larder.prefetch(manifest, options: ["--quiet"])
            #expect(quiet.status == 0 && quiet.finished.standardError.isEmpty, "\(quiet.finished)")
        }
    }

    /// In lists of packages, digest and size can describe the package and not the icon.
    @Test(arguments: ["download", "url", "package"])
    func mismatchesInPackageListsSuggestTheIconKeyOption(_ member: String) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let digest = String(repeating: "0", count: 64)
            func entries(_ members: [String: any Sendable]) -> [ManifestEntry] {
                urls.prefix(2).map { url in members.merging(["icon": url]) { $1 } }
            }
            let packages = try larder.manifest(
                entries([member: "http://a.example/a.deb", "sha256": digest]))
            let remedy = "use --icon-key icon to ignore them"
            for options in [[], ["--quiet"]] {
                let run = try larder.prefetch(packages, options: options)
                #expect(run.status == 2)
                #expect(run.finished.standardError.contains(remedy), "\(run.finished)")
            }
            let named = try larder.prefetch(packages, options: ["--icon-key", "icon"])
            #expect(named.status == 0, "\(named.finished)")
            // If one size matches or no member names a package, the members describe the icons.
            for list in [
                entries(["sha256": digest]),
                entries([member: "x", "sha256": digest]) + [
                    ["icon": urls[2], "size": Icons.icon(2).count, member: "x"]
                ],
            ] {
                let run = try larder.prefetch(try larder.manifest(list, name: "others.json"))
                #expect(run.status == 2)
                #expect(!run.finished.standardError.contains(remedy), "\(run.finished)")
            }
        }
    }

    /// A second URL for a key is ambiguous within a manifest, but may be newer in another manifest.
    @Test func twoURLsForOneKeyInAManifestConflict() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest([
                ["icon": urls[0], "key": "k", "name": "A"], ["icon": urls[2], "key": "other"],
                ["icon": urls[1], "key": "k", "name": "B"], ["icon": urls[0], "key": "k"],
            ])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "fetched", "failed", "coalesced"])
            let error = try #require(run.line(3).error)
            #expect(error.code == "key-conflict")
            #expect(
                error.message == "line 1: key 'k' is already used by entry 1 for another icon")
            #expect(try larder.cat("key:k") == Icons.icon(0))
            let other = try larder.manifest([["icon": urls[1], "key": "k"]], name: "other.json")
            let both = try larder.run(
                "plan", try larder.manifest([["icon": urls[0], "key": "k"]]), other)
            #expect(both.status == 0, "\(both)")
        }
    }

    /// Otherwise an export would write the first icon under the second URL.
    @Test func everyCommandRefusesASecondURLForAKey() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            _ = try larder.prefetch(try larder.manifest([["icon": urls[0], "key": "k"]]))
            let manifest = try larder.manifest(
                [["icon": urls[0], "key": "k"], ["icon": urls[1], "key": "k"]], name: "two.json")
            let seed = larder.directory.path("seed")
            for command in [
                ["export", seed, "--layout", "nuke"], ["import", seed, "--layout", "nuke"],
                ["export", larder.directory.path("page"), "--layout", "gallery"], ["verify"],
                ["evict", "--dry-run", "--only", manifest],
            ] {
                let option = command[0] == "evict" ? [] : ["--manifest", manifest]
                let finished = try larder.run(arguments: command + option)
                #expect(finished.status == (command[0] == "evict" ? 65 : 2), "\(finished)")
                let output = finished.standardOutput + finished.standardError
                #expect(
                    output.contains("key 'k' is already used by entry 1 for another icon"),
                    "\(finished)")
            }
            let files = try #require(FileManager.default.enumerator(atPath: seed))
            let names = files.compactMap { $0 as? String }.filter {
                var isDirectory: ObjCBool = false
                return FileManager.default.fileExists(
                    atPath: "\(seed)/\($0)", isDirectory: &isDirectory) && !isDirectory.boolValue
            }
            #expect(names.count == 1, "\(names)")
        }
    }

    @Test(arguments: [["name": "No icon"], ["icon": ""], ["icon": " \t"]] as [ManifestEntry])
    func anEntryWithoutAnIconIsSkipped(_ entry: ManifestEntry) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let run = try larder.prefetch(try larder.manifest([entry, ["icon": url]]))
            #expect(run.status == 0)
            #expect(run.outcomes == ["skipped", "fetched"])
            #expect(try run.line(1).error?.code == "no-icon")
            #expect(run.finished.standardError.isEmpty, "\(run.finished)")
        }
    }

    @Test func anElementThatIsNotADictionaryFails() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.write(#"[7, {"icon": "\#(url)"}]"#.utf8, to: "apps.json")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["failed", "fetched"])
            #expect(try run.line(1).error?.code == "not-a-dictionary")
        }
    }

    /// If U+FFFD replaced the surrogate, the result would be a different URL.
    @Test func aURLWithALoneSurrogateFailsOnlyItsEntry() async throws {
        try await withFixture { larder in
            larder.origin.onAny { _ in Icons.reply(1) }
            let url = larder.origin.url("/a")
            let manifest = try larder.write(
                #"""
                [{"icon": "\#(url)1"}, {"icon": "\#(url)\ud800"}, {"icon": "\#(url)\udc00\u0062"},
                 {"icon": "\#(url)2", "key": "k\udfff"}, {"icon": "\#(url)\ud83c\udf4e"}]
                """#.utf8, to: "apps.json")
            let run = try larder.prefetch(manifest)
            #expect(run.status == 2)
            #expect(run.outcomes == ["fetched", "failed", "failed", "fetched", "fetched"])
            #expect(
                try [2, 3].map { try run.line($0).error?.code } == [
                    "icon-not-a-string", "icon-not-a-string",
                ])
            #expect(
                run.finished.standardError.contains(
                    "'key' is not a valid key and was ignored in entry 4"), "\(run.finished)")
            #expect(Set(larder.origin.requests.map(\.target)) == ["/a1", "/a2", "/a%F0%9F%8D%8E"])
        }
    }

    @Test func anUnparsableLineFailsOnlyItsEntry() async throws {
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
