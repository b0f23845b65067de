import Foundation
import GRDB
import LarderTestSupport
import Testing

/// Recovery of a damaged or missing index through the command line.
@Suite struct RecoveryTests {
    @Test func prefetchRebuildsADamagedIndexWithoutDownloads() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(5)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).summary.fetched == 5)
            _ = try larder.write([UInt8](repeating: 0, count: 5000), to: "cache/index.sqlite")
            let status = try larder.run("status")
            #expect(status.status == 1)
            #expect(status.standardError.contains("larder reindex"))
            larder.origin.resetLog()

            let run = try larder.prefetch(manifest)
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.summary.cached + run.summary.revalidated == 5)
            #expect(run.finished.standardError.contains("index rebuilt: 5 objects, 5 URLs"))
            #expect(run.finished.standardError.contains("index.damaged-"))
            #expect(try larder.verify() == 0)
            // The next run does not rebuild it again.
            #expect(try !larder.prefetch(manifest).finished.standardError.contains("rebuilt"))
        }
    }

    /// Opening the index does not read the damaged page.
    @Test func damageFoundDuringPlanningIsRepairedInTheSameRun() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(5))
            #expect(try larder.prefetch(manifest).summary.fetched == 5)
            let path = "\(larder.cache)/index.sqlite"
            let database = try DatabaseQueue(path: path)
            let page = try await database.read { db in
                try Int.fetchOne(
                    db, sql: "SELECT rootpage FROM sqlite_master WHERE name = 'resources'")
            }
            try database.close()
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            try file.seek(toOffset: UInt64(4096 * (try #require(page) - 1)))
            try file.write(contentsOf: [UInt8](repeating: 0xA5, count: 4096))
            try file.close()
            larder.origin.resetLog()

            let run = try larder.prefetch(manifest)
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.summary.cached + run.summary.revalidated == 5)
            #expect(run.finished.standardError.contains("index rebuilt: 5 objects, 5 URLs"))
            #expect(try larder.verify() == 0)
        }
    }

    @Test func reindexRestoresAMissingIndex() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(5))
            #expect(try larder.prefetch(manifest).summary.fetched == 5)
            for name in ["index.sqlite", "index.sqlite-wal", "index.sqlite-shm"] {
                try? FileManager.default.removeItem(atPath: "\(larder.cache)/\(name)")
            }
            let finished = try larder.run("reindex")
            #expect(finished.status == 0)
            #expect(finished.standardOutput.contains("5 objects, 5 URLs (from the last snapshot)"))
            #expect(try larder.status().objects == 5)
        }
    }

    @Test func reindexFillsInTypesAndSizesOfImages() async throws {
        try await withFixture { larder in
            let url = larder.origin.url("/png")
            larder.origin.on("/png", .ok(Icons.png, type: "image/png"))
            larder.origin.on("/text", .ok("text"))
            let manifest = try larder.manifest(url, larder.origin.url("/text"))
            #expect(try larder.prefetch(manifest, options: ["--any-content"]).status == 0)
            let before = try larder.run("list", "--json").standardOutput
            #expect(before.contains(#""media_type":"image/png","width":48,"height":48,"#))
            let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
            try await index.write { db in
                try db.execute(
                    sql: "UPDATE objects SET media_type = NULL, width = NULL, height = NULL")
            }
            try index.close()
            #expect(try larder.run("reindex").status == 0)
            #expect(try larder.run("list", "--json").standardOutput == before)
        }
    }

    /// A repair without the manifest can then download these objects.
    @Test(arguments: [true, false]) func aRebuildKeepsURLsOfDamagedObjects(
        isByPrefetch: Bool
    ) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(5)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).summary.fetched == 5)
            try larder.overwrite(try larder.objectPath(urls[1]), with: Array("damaged".utf8))
            if isByPrefetch {
                _ = try larder.write([UInt8](repeating: 0, count: 5000), to: "cache/index.sqlite")
                let other = try larder.manifest(urls[0])
                #expect(try larder.prefetch(other).status == 0)
            } else {
                #expect(try larder.run("reindex").status == 2)
            }
            #expect(try larder.cat(urls[1]) == nil)
            #expect(try larder.verify() == 2)
            larder.origin.resetLog()
            let repair = try larder.run("verify", "--repair", "--allow-private-network")
            #expect(repair.status == 0, "\(repair)")
            #expect(larder.origin.requests.count == 1)
            #expect(try larder.cat(urls[1]) == Icons.icon(1))
            #expect(try larder.verify() == 0)
        }
    }

    @Test func reindexIsRefusedDuringAPrefetch() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.on("/a", Icons.reply(1).heldBy(gate))
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(larder.origin.url("/a")), report: report)
            try await larder.origin.waitForRequests(1)
            let finished = try larder.run("reindex", "--no-wait")
            #expect(finished.status == 75, "\(finished)")
            gate.open()
            #expect(try process.wait().status == 0)
        }
    }
}
