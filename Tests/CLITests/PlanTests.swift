import Foundation
import LarderTestSupport
import Testing

/// `plan`, which shows the work of a prefetch without requests or changes to the cache.
@Suite struct PlanTests {
    @Test func planMakesNoRequestsAndCreatesNoCache() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let finished = try larder.run("plan", manifest)
            #expect(finished.status == 0)
            #expect(finished.standardOutput.hasSuffix("3 URLs: missing 3\n"))
            #expect(finished.standardError.isEmpty)
            #expect(!larder.hasCache)
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test func planComparesTheManifestWithTheCache() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            larder.origin.on("/1", Icons.reply(1).header("Cache-Control", "max-age=0"))
            _ = try larder.prefetch(try larder.manifest(urls[0], urls[1], urls[2]))
            try FileManager.default.removeItem(atPath: larder.objectPath(urls[2]))
            larder.origin.resetLog()
            let manifest = try larder.manifest([
                ["icon": urls[0]], ["icon": urls[1]], ["icon": urls[2]], ["icon": urls[3]],
                ["name": "None"], ["icon": "file:///"], ["icon": urls[0]],
            ])
            let finished = try larder.run("plan", manifest, "--json")
            #expect(finished.status == 0)
            let statuses = try lines(finished).reduce(into: [:]) { $0[$1.position] = $1.status }
            #expect(
                statuses == [
                    1: "cached", 2: "stale", 3: "missing", 4: "missing", 5: "skipped",
                    6: "skipped", 7: "cached",
                ])
            #expect(
                finished.standardOutput.contains(
                    #"{"entries":7,"urls":4,"cached":1,"stale":1,"missing":2,"skipped":2,"failed":0,"#
                        + #""remembered":0,"left_alone":0,"icons":7,"insecure":5,"unsupported":1,"#
                        + #""other_shards":0,"unread":0,"unfetched":{"other-scheme":1},"values":["#),
                "\(finished)")
            #expect(larder.origin.count() == 0)
        }
    }

    @Test func quietPlanPrintsOnlyTheCounts() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let finished = try larder.run("plan", manifest, "--quiet")
            #expect(
                finished.standardOutput
                    == "3 entries (plain http 3); 3 URLs: missing 3\n")
        }
    }

    private struct Line: Decodable {
        let position: Int
        let status: String
    }

    private func lines(_ finished: Finished) throws -> [Line] {
        try finished.standardOutputBytes.split(separator: UInt8(ascii: "\n")).dropLast()
            .map { try JSONDecoder().decode(Line.self, from: $0) }
    }
}
