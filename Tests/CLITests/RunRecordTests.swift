import Foundation
import LarderTestSupport
import Testing

/// The records in `runs/`, and the runs that leave no record.
@Suite struct RunRecordTests {
    private struct Run: Decodable, Equatable {
        let command: String
        let started: Double
        let ended: Double
        let seconds: Double
        let exit_status: Int
        let counts: [String: Int]
    }

    private struct Status: Decodable {
        let runs: [Run]
    }

    private func runs(_ larder: CLIFixture) throws -> [String: Run] {
        let finished = try larder.run("status", "--json")
        let status = try JSONDecoder().decode(Status.self, from: finished.standardOutputBytes)
        return Dictionary(uniqueKeysWithValues: status.runs.map { ($0.command, $0) })
    }

    private func record(_ command: String, _ larder: CLIFixture) throws -> Data {
        try Data(contentsOf: URL(fileURLWithPath: "\(larder.cache)/runs/\(command).json"))
    }

    @Test func everyCommandLeavesARunRecord() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(3)
            let manifest = try larder.manifest(urls: urls + [larder.origin.url("/missing")])
            let before = Date().timeIntervalSince1970
            #expect(try larder.prefetch(manifest).status == 2)
            let path = try larder.objectPath(urls[0])
            try larder.overwrite(path, with: [1])
            #expect(try larder.run("verify").status == 2)
            try larder.overwrite(path, with: Icons.icon(0))
            #expect(try larder.run("evict", "--max-count", "1").status == 0)
            #expect(try larder.run("reindex").status == 0)
            let runs = try runs(larder)
            #expect(Set(runs.keys) == ["prefetch", "verify", "evict", "reindex"])
            #expect(
                runs.mapValues(\.exit_status) == [
                    "prefetch": 2, "verify": 2, "evict": 0, "reindex": 0,
                ])
            for run in runs.values {
                // The file stores whole seconds.
                #expect(run.started >= before - 1 && run.ended >= run.started)
                #expect(run.ended <= Date().timeIntervalSince1970 && run.seconds < 60)
            }
            let prefetch = try #require(runs["prefetch"]).counts
            #expect(prefetch["entries"] == 4 && prefetch["fetched"] == 3 && prefetch["failed"] == 1)
            let verify = try #require(runs["verify"]).counts
            #expect(verify["objects"] == 3 && verify["whole"] == 2 && verify["damaged"] == 1)
            #expect(try #require(runs["evict"]).counts["evicted_objects"] == 2)
            #expect(try #require(runs["reindex"]).counts["objects"] == 1)
            // A record is not a foreign file, and writing it leaves no temporary file.
            #expect(try larder.verify() == 0)
            #expect(try larder.temporaries().isEmpty)
            let text = try larder.run("status").standardOutput
            #expect(text.contains("\nprefetch   ended 20") && text.contains(" with status 2\n"))
        }
    }

    @Test func commandsThatDidNotRunLeaveNoRecord() async throws {
        try await withFixture { larder in
            for command in ["verify", "evict"] {
                #expect(try larder.run(command).status == 66)
                #expect(!larder.hasCache)
            }
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(try larder.run("evict", "--max-count", "1", "-n").status == 0)
            #expect(try larder.run("plan", manifest).status == 0)
            #expect(try larder.run("evict", "--max-count", "-1").status == 64)
            let before = try record("prefetch", larder)
            let root = open(larder.cache, O_RDONLY | O_CLOEXEC)
            #expect(flock(root, LOCK_EX) == 0)
            for arguments in [["prefetch", manifest], ["verify"], ["reindex"]] {
                let finished = try larder.binary.run(
                    arguments + ["--no-wait", "--cache", larder.cache])
                #expect(finished.status == 75)
            }
            close(root)
            #expect(try record("prefetch", larder) == before)
            #expect(try runs(larder).keys.sorted() == ["prefetch"])
            // A directory that is not a cache does not become one.
            let other = larder.directory.path("other")
            mkdir(other, 0o755)
            #expect(try larder.binary.run(["verify", "--cache", other]).status == 0)
            #expect(try FileManager.default.contentsOfDirectory(atPath: other).isEmpty)
        }
    }

    @Test func failedAndInterruptedRunsLeaveARecord() async throws {
        try await withFixture { larder in
            let broken = try larder.write("no manifest".utf8, to: "broken.json")
            #expect(try larder.run("prefetch", broken).status == 65)
            let run = try #require(try runs(larder)["prefetch"])
            #expect(run.exit_status == 65 && run.counts.isEmpty)

            let gate = try Gate()
            larder.origin.on("/a", Icons.reply(1).heldBy(gate))
            let process = try larder.startPrefetch(
                try larder.manifest(larder.origin.url("/a")),
                report: larder.directory.path("report.jsonl"))
            try await larder.origin.waitForRequests(1)
            process.kill(SIGTERM)
            #expect(try process.wait().status == 143)
            let interrupted = try #require(try runs(larder)["prefetch"])
            #expect(interrupted.exit_status == 143 && interrupted.counts["unfinished"] == 1)
        }
    }

    @Test func unreadableAndUnwritableRecordsAreIgnored() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            #expect(try larder.prefetch(manifest).status == 0)
            for bytes in ["", "{", "{\"command\":\"verify\"}", "[]"] {
                _ = try larder.write(bytes.utf8, to: "cache/runs/prefetch.json")
                #expect(try runs(larder).isEmpty)
            }
            let outside = larder.directory.path("outside")
            mkdir(outside, 0o755)
            try FileManager.default.removeItem(atPath: larder.cache + "/runs")
            try FileManager.default.createSymbolicLink(
                atPath: larder.cache + "/runs", withDestinationPath: outside)
            let finished = try larder.run("verify", "--quiet")
            #expect(finished.status == 0 && finished.standardError.isEmpty, "\(finished)")
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside).isEmpty)
            #expect(try runs(larder).isEmpty)
        }
    }
}
