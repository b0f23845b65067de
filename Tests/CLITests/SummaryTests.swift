import Foundation
import LarderTestSupport
import Testing

/// The counts of a summary, with and without a report.
@Suite struct SummaryTests {
    /// Without a report, successful icons are counted but not listed.
    @Test func aReportDoesNotChangeTheCounts() async throws {
        let named = try await summaries(reporting: true)
        let counted = try await summaries(reporting: false)
        #expect(named == counted)
        #expect(named[0]["fetched"] == 3 && named[0]["coalesced"] == 3 && named[0]["unstored"] == 2)
        #expect(named[0]["skipped"] == 1 && named[0]["failed"] == 2)
        #expect(named[1]["cached"] == 2 && named[1]["revalidated"] == 1)
    }

    /// Returns the counts of a first and a second run.
    private func summaries(reporting: Bool) async throws -> [[String: Int]] {
        var summaries: [[String: Int]] = []
        try await withFixture { larder in
            let origin = larder.origin
            origin.on("/fresh", Icons.reply(1).header("Cache-Control", "max-age=3600"))
            origin.on("/large", Icons.reply(2).header("Cache-Control", "max-age=3600"))
            origin.on("/stale") { request in
                request.header("If-None-Match") == nil
                    ? Icons.reply(3).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
                    : .status(304).header("ETag", "\"1\"").header("Cache-Control", "max-age=0")
            }
            origin.on("/secret", Icons.reply(4).header("Cache-Control", "no-store"))
            let url = { (path: String) in origin.url(path) }
            let entries: [ManifestEntry] = [
                ["name": "1", "icon": url("/fresh")], ["name": "2", "icon": url("/fresh")],
                ["name": "3", "icon": url("/fresh"), "sha256": String(repeating: "0", count: 64)],
                ["name": "4", "icon": url("/fresh")], ["name": "5", "icon": url("/large")],
                ["name": "6", "icon": url("/large")], ["name": "7", "icon": url("/stale")],
                ["name": "8", "icon": url("/secret")], ["name": "9", "icon": url("/secret")],
                ["name": "10"], ["name": "11", "icon": url("/missing")],
            ]
            let manifest = try larder.manifest(entries)
            let report = reporting ? ["--report", larder.directory.path("report.jsonl")] : []
            for _ in 1...2 {
                let finished = try larder.binary.run(
                    ["prefetch", manifest, "--cache", larder.cache, "--allow-private-network"]
                        + ["--json", "--failure-ttl", "0"] + report)
                let json = try JSONDecoder().decode(
                    [String: JSONValue].self, from: finished.standardOutputBytes)
                summaries.append(
                    json.compactMapValues {
                        if case .integer(let count) = $0 { count } else { nil }
                    })
            }
        }
        return summaries.map { $0.filter { $0.key != "received_bytes" } }
    }
}
