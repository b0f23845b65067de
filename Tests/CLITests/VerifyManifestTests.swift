import Foundation
import LarderTestSupport
import Testing

/// `verify --manifest`, which checks that a manifest can be used offline.
@Suite struct VerifyManifestTests {
    private struct Report: Decodable {
        struct Finding: Decodable {
            let kind: String
            let subject: String
            let message: String
            let urls: [String]
        }

        let clean: Bool
        let entries: Int
        let objects: Int
        let whole: Int
        let findings: [Finding]
    }

    private func verify(_ larder: CLIFixture, _ manifests: String...) throws -> (Int32, Report) {
        let finished = try larder.binary.run(
            ["verify", "--json", "--cache", larder.cache]
                + manifests.flatMap { ["--manifest", $0] })
        let report = try JSONDecoder().decode(Report.self, from: finished.standardOutputBytes)
        return (finished.status, report)
    }

    private func withFilledCache(_ body: (CLIFixture, [String]) throws -> Void) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            larder.origin.resetLog()
            try body(larder, urls)
        }
    }

    @Test func aFullyCachedManifestIsClean() async throws {
        try await withFilledCache { larder, urls in
            let one = try larder.manifest([["icon": urls[0]], ["name": "None"]], name: "one.json")
            let two = try larder.manifest([["icon": urls[0]], ["icon": urls[1]]], name: "two.json")
            let (status, report) = try verify(larder, one, two)
            #expect(status == 0)
            #expect(report.clean && report.findings.isEmpty)
            #expect(report.entries == 4 && report.objects == 2 && report.whole == 2)
            #expect(larder.origin.requests.isEmpty)
        }
    }

    @Test func entriesThatAreNotCachedAreMissing() async throws {
        try await withFilledCache { larder, urls in
            let absent = larder.origin.url("/absent")
            let manifest = try larder.manifest(
                [
                    ["icon": urls[0]], ["icon": absent], ["icon": absent],
                    ["icon": urls[1], "size": 1], ["icon": "https://"],
                ], name: "more.json")
            let (status, report) = try verify(larder, manifest)
            #expect(status == 2)
            #expect(report.findings.map(\.kind) == .init(repeating: "missing", count: 4))
            #expect(report.findings.map(\.subject) == (2...5).map { "\(manifest): entry \($0)" })
            #expect(report.findings.map(\.urls) == [[absent], [absent], [urls[1]], []])
            #expect(report.findings[0].message == "not cached")
            #expect(report.findings[2].message.hasPrefix("expected 1 byte,"))
            #expect(report.whole == 2)
            let quiet = try larder.run("verify", "--manifest", manifest, "--quiet")
            #expect(quiet.status == 2)
            #expect(
                quiet.standardError.contains(
                    "; first problem: \(manifest): entry 2: \(absent): not cached; "), "\(quiet)")
        }
    }

    @Test func onlyIconsOfTheManifestAreVerified() async throws {
        try await withFilledCache { larder, urls in
            let manifest = try larder.manifest(
                [["icon": urls[0]], ["icon": urls[2]]], name: "m.json")
            try larder.overwrite(try larder.objectPath(urls[1]), with: [1])
            #expect(try verify(larder, manifest).0 == 0)
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1])
            try FileManager.default.removeItem(atPath: larder.objectPath(urls[2]))
            let (status, report) = try verify(larder, manifest)
            #expect(status == 2)
            #expect(Set(report.findings.map(\.kind)) == ["corrupt", "missing"])
            #expect(Set(report.findings.flatMap(\.urls)) == [urls[0], urls[2]])
        }
    }

    /// A later failure does not make an entry missing, either.
    @Test func staleEntriesAreNotMissing() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "no-cache"))
            let manifest = try larder.manifest(larder.origin.url("/a"))
            #expect(try larder.prefetch(manifest).status == 0)
            larder.origin.on("/a", .status(404))
            #expect(try larder.prefetch(manifest).status == 2)
            #expect(try verify(larder, manifest).0 == 0)
        }
    }

    @Test func everyEntryIsMissingFromAnEmptyCache() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"), larder.origin.url("/b"))
            #expect(try larder.run("verify", "--manifest", manifest).status == 66)
            #expect(!larder.hasCache)
            mkdir(larder.cache, 0o700)
            let (status, report) = try verify(larder, manifest)
            #expect(status == 2)
            #expect(report.findings.count == 2 && report.entries == 2)
        }
    }

    @Test func unreadableManifestsExitAsInOtherCommands() async throws {
        try await withFilledCache { larder, _ in
            let broken = try larder.write("no manifest".utf8, to: "broken")
            #expect(try larder.run("verify", "--manifest", broken).status == 65)
            let absent = larder.directory.path("absent.json")
            #expect(try larder.run("verify", "--manifest", absent).status == 66)
        }
    }
}
