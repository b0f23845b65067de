import Foundation
import LarderTestSupport
import Testing

/// Entries with `integrity`, `sha256` or `size`, which the bytes must match.
@Suite struct ExpectationTests {
    private static let icon = Icons.icon(1)
    private static let hex = ReferenceSHA256.hex(icon)
    private static let otherHex = ReferenceSHA256.hex(Icons.icon(2))

    static let matching: [ManifestEntry] = [
        ["integrity": integrity(icon)],
        ["integrity": "sha384-AAAA \(integrity(icon))?x"],
        ["sha256": hex],
        ["sha256": hex.uppercased()],
        ["size": icon.count],
        ["integrity": integrity(icon), "sha256": hex, "size": icon.count],
    ]

    static let mismatching: [(ManifestEntry, String)] = [
        (["integrity": integrity(Icons.icon(2))], "integrity-mismatch"),
        (["sha256": otherHex], "integrity-mismatch"),
        (["size": icon.count + 1], "size-mismatch"),
        (["sha256": hex, "size": 1], "size-mismatch"),
        (["sha256": otherHex, "size": icon.count], "integrity-mismatch"),
    ]

    @Test(arguments: matching)
    func bytesThatMatchTheEntryAreStored(_ expectation: ManifestEntry) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let manifest = try larder.manifest([expectation.merging(["icon": url]) { $1 }])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0, "\(run.finished)")
            #expect(try run.line(1).digest == "sha256:" + Self.hex)
            #expect(try larder.prefetch(manifest).outcomes == ["cached"])
        }
    }

    @Test(arguments: mismatching)
    func bytesThatDoNotMatchTheEntryAreRefused(
        _ expectation: ManifestEntry, _ code: String
    ) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let run = try larder.prefetch(
                try larder.manifest([expectation.merging(["icon": url]) { $1 }]))
            #expect(run.status == 2)
            let error = try #require(try run.line(1).error)
            #expect(error.code == code)
            let advice = "; check the manifest's digest and the server's file"
            #expect(error.message.hasSuffix(advice) == (code == "integrity-mismatch"), "\(error)")
            #expect(larder.origin.count() == 1)
            #expect(try larder.status().objects == 0)
            #expect(try larder.status().resources == 0)
            #expect(try larder.temporaries().isEmpty)
        }
    }

    @Test func cachedBytesThatDoNotMatchTheEntryAreFetchedAgain() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(2))
            _ = try larder.prefetch(try larder.manifest(url))
            larder.origin.on("/a", Icons.reply(1))
            let run = try larder.prefetch(
                try larder.manifest([["icon": url, "sha256": Self.hex]]))
            #expect(run.outcomes == ["fetched"])
            #expect(try larder.cat(url) == Self.icon)
        }
    }

    static let contradictions: [(ManifestEntry, ManifestEntry)] = [
        (["sha256": otherHex], ["integrity": integrity(icon)]),
        (["size": icon.count], ["size": icon.count + 1]),
        (["sha256": hex, "size": icon.count], ["sha256": otherHex, "size": icon.count]),
    ]

    @Test(arguments: contradictions)
    func manifestsThatRequireDifferentBytesFailWithoutADownload(
        _ first: ManifestEntry, _ second: ManifestEntry
    ) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let one = try larder.manifest([first.merging(["icon": url]) { $1 }], name: "1.json")
            let two = try larder.manifest(
                [["name": "None"], second.merging(["icon": url]) { $1 }], name: "2.json")
            let places = "\(one): entry 1 and \(two): entry 2 require different bytes"
            for _ in 0..<2 {
                let run = try larder.prefetch(one, two)
                #expect(run.status == 2)
                #expect(run.outcomes == ["failed", "skipped", "failed"])
                #expect(run.summary.failures == ["integrity-conflict": 2])
                let failed = run.lines.filter { $0.outcome == "failed" }
                #expect(failed.allSatisfy { $0.error?.message.hasPrefix(places) == true })
                #expect(failed.allSatisfy { $0.url == url })
                // Standard error names both places once.
                let text = run.finished.standardError
                #expect(text.ranges(of: places).count == 1, "\(run.finished)")
                #expect(text.contains("\(url) integrity-conflict: "), "\(run.finished)")
            }
            let plan = try larder.run("plan", one, two)
            #expect(plan.status == 2)
            #expect(plan.standardOutput.ranges(of: places).count == 1, "\(plan)")
            #expect(plan.standardOutput.hasSuffix("; 1 URL\n"), "\(plan)")
            #expect(larder.origin.requests.isEmpty)
            // The origin has the bytes that one of the manifests requires.
            let statuses = try [one, two].map { try larder.prefetch($0).status }
            #expect(Set(statuses) == [0, 2])
            let manifests = ["--manifest", one, "--manifest", two]
            let verify = try larder.run(arguments: ["verify"] + manifests)
            #expect(verify.status == 2, "\(verify)")
            #expect(verify.standardOutput.ranges(of: places).count == 1, "\(verify)")
            // The icon is cached.
            #expect(verify.standardOutput.contains(": 1 whole, 1 unusable ("), "\(verify)")
            #expect(!verify.standardOutput.contains("missing"), "\(verify)")
        }
    }

    @Test(arguments: [true, false])
    func entriesWithoutRequirementsIgnoreAContradiction(areFirst: Bool) async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let demanding = [Self.otherHex, Self.hex].map { ["icon": url, "sha256": $0] }
            let others = [["icon": url], ["icon": url]]
            let manifest = try larder.manifest(
                areFirst ? others + demanding : demanding + others)
            let run = try larder.prefetch(manifest)
            let (fetched, failed) = (["fetched", "coalesced"], ["failed", "failed"])
            #expect(run.outcomes == (areFirst ? fetched + failed : failed + fetched))
            let second = try larder.prefetch(manifest)
            let cached = ["cached", "cached"]
            #expect(second.outcomes == (areFirst ? cached + failed : failed + cached))
            #expect(larder.origin.count() == 1)
            #expect(try larder.cat(url) == Self.icon)
            // Without a report, cached entries are only counted.
            let finished = try larder.run("prefetch", manifest, "--json")
            let summary = try PrefetchRun.summary(of: finished)
            #expect(summary.entries == 4 && summary.cached == 2 && summary.failed == 2)
            #expect(finished.status == 2 && larder.origin.count() == 1)
        }
    }

    @Test func aRepairDownloadsNothingForAContradiction() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
            try larder.overwrite(try larder.objectPath(url), with: [1])
            let manifest = try larder.manifest([
                ["icon": url, "sha256": Self.hex], ["icon": url, "sha256": Self.otherHex],
            ])
            let repair = try larder.run(
                "verify", "--repair", "--allow-private-network", "--manifest", manifest)
            #expect(repair.status == 2)
            #expect(
                repair.standardOutput.contains(
                    "\(manifest): entry 1 and \(manifest): entry 2 require different bytes"),
                "\(repair)")
            #expect(larder.origin.count() == 1)
            // The URL is not forgotten.
            #expect(try larder.run("verify", "--repair", "--allow-private-network").status == 0)
            #expect(try larder.cat(url) == Self.icon)
        }
    }

    @Test func aRepairReportsAContradictionAsTheReasonOfItsFailure() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
            try larder.overwrite(try larder.objectPath(url), with: [1])
            let manifest = try larder.manifest([
                ["icon": url, "sha256": Self.hex], ["icon": url, "sha256": Self.otherHex],
            ])
            let repair = try larder.run(
                "verify", "--repair", "--json", "--allow-private-network", "--manifest", manifest)
            #expect(repair.status == 2, "\(repair)")
            let report = try #require(try JSONValue.lines(repair.standardOutputBytes).first)
            let refetches = report["refetches"]?.array ?? []
            #expect(refetches.count == 1)
            let refetch = try #require(refetches.first?.object)
            #expect(refetch["url"] == .string(url) && refetch["outcome"] == .string("failed"))
            #expect(refetch["error"]?.object?["code"] == .string("integrity-conflict"))
            #expect(report["findings"]?.array?.first?.object?["repair"] == .string("lost"))
        }
    }

    @Test func entriesThatRequireADigestAndASizeAgree() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/a")
            larder.origin.on("/a", Icons.reply(1))
            let manifest = try larder.manifest([
                ["icon": url, "sha256": Self.hex], ["icon": url, "size": Self.icon.count],
                ["icon": url, "integrity": Self.integrity(Self.icon), "size": Self.icon.count],
            ])
            let run = try larder.prefetch(manifest)
            #expect(run.status == 0)
            #expect(run.outcomes == ["fetched", "coalesced", "coalesced"])
        }
    }

    private static func integrity(_ bytes: [UInt8]) -> String {
        "sha256-" + Data(ReferenceSHA256.digest(bytes)).base64EncodedString()
    }
}
