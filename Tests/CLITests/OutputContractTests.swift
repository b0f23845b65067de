import Foundation
import GRDB
import LarderCache
import LarderManifest
import LarderPrefetch
import LarderTestSupport
import Testing

/// `docs/output.md`, compared with real output in both directions.
@Suite struct OutputContractTests {
    private let document: OutputDocument

    init() throws { document = try OutputDocument() }

    // MARK: Keys

    /// Adds the error of a failed disk, which these tests cannot cause.
    private static func stopped(_ report: [String: JSONValue]) -> [String: JSONValue] {
        report.merging(["error": .object(["code": .string("storage")])]) { $1 }
    }

    @Test func prefetchOutputIsDocumented() async throws {
        try await withFixture { larder in
            let (manifest, report) = (try mixed(larder), larder.directory.path("report.jsonl"))
            var summaries: [[String: JSONValue]] = []
            var lines: [[String: JSONValue]] = []
            func prefetch(_ manifest: String, options: [String] = []) throws {
                let arguments = larder.prefetchArguments([manifest], report: report)
                let finished = try larder.binary.run(arguments + options)
                summaries += try JSONValue.lines(finished.standardOutputBytes)
                lines += try JSONValue.lines(Data(contentsOf: URL(fileURLWithPath: report)))
            }
            try prefetch(manifest)
            // With a remote that does not answer.
            let remote = ["--remote", "s3://none", "--remote-endpoint", "http://127.0.0.1:9"]
            try prefetch(manifest, options: remote + ["--remote-unsigned"])
            // A file in place of the objects directory makes the cache unusable.
            let url = larder.origin.url("/unlucky")
            let objects = "\(larder.cache)/objects/sha256"
            larder.origin.on("/unlucky") { _ in
                rename(objects, objects + ".aside")
                close(open(objects, O_WRONLY | O_CREAT, 0o644))
                return Icons.reply(1000)
            }
            try prefetch(try larder.manifest(url, name: "unlucky.json"))

            try document.compare(summaries, with: "prefetch --json")
            try document.compare(lines, with: "prefetch --report")
            try document.compare(
                (summaries + lines).compactMap { $0["error"]?.object }, with: "Errors")
            let codes = try documentedCodes()
            for summary in summaries {
                #expect(codes.isSuperset(of: summary["failures"]?.object?.keys.map(\.self) ?? []))
            }
            for line in lines {
                let outcome = try #require(line["outcome"]?.string)
                let hasObject = ["fetched", "revalidated", "cached", "coalesced", "unstored"]
                    .contains(outcome)
                #expect((line["digest"] != .null) == hasObject, "\(line)")
                #expect((line["bytes"] != .null) == hasObject, "\(line)")
                #expect((line["error"] != .null) == ["failed", "skipped"].contains(outcome))
            }
            let outcomes = Set(lines.compactMap { $0["outcome"]?.string })
            // `RemoteOutputTests` covers the two outcomes that need a remote.
            #expect(
                outcomes.union(["pulled", "shared"])
                    == Set(try document.table("Outcomes", "outcome").words))
        }
    }

    @Test func planOutputIsDocumented() async throws {
        try await withFixture { larder in
            let manifest = try mixed(larder)
            _ = try larder.prefetch(manifest)
            // Never prefetched, so it is missing.
            let more = try larder.manifest(larder.origin.url("/more"), name: "more.json")
            var lines = try JSONValue.lines(
                larder.run("plan", manifest, more, "--json").standardOutputBytes)
            let last = lines.removeLast()
            try document.compare(lines, with: "plan --json")
            let quiet = try JSONValue.lines(
                larder.run("plan", manifest, "--json", "--quiet").standardOutputBytes)
            try document.compare([last] + quiet, with: "Last line of plan --json")
            let values = (last["values"]?.array ?? []).compactMap(\.object)
            try document.compare(values, with: "Values")
            let kinds = try document.table("Values", "kind").words
            #expect(Set(kinds) == Set(IconValue.Kind.allCases.map(\.rawValue)))
            try document.compare(lines.compactMap { $0["error"]?.object }, with: "Errors")
            try document.compare(
                lines.compactMap { $0["last_failure"]?.object }, with: "Past failures")
            let index = try larder.write(
                #"{"repo":{"address":"https://a.example"},"apps":[{"packageName":"a","icon":"a"}]}"#
                    .utf8, to: "index.json")
            let empty = try larder.manifest([], name: "empty.json")
            let explained = try JSONValue.lines(
                larder.run("plan", index, empty, "--json", "--explain").standardOutputBytes
                    + larder.run(
                        "plan", more, "--json", "--explain", "--priority-key", "rank",
                        "--integrity-key", "hash", "--icon-template", "https://a.example/{icon}"
                    ).standardOutputBytes)
            try document.compare(
                explained.filter { $0["shape"] != nil }, with: "Lines of plan --explain --json")
            let statuses = Set(lines.compactMap { $0["status"]?.string })
            #expect(statuses == Set(try document.table("plan --json", "status").words))
        }
    }

    @Test func healthOutputIsDocumented() async throws {
        try await withFixture { larder in
            let manifest = try mixed(larder)
            _ = try larder.prefetch(manifest)
            let none = try larder.write("[]".utf8, to: "none.json")
            var lines = try JSONValue.lines(
                larder.run("plan", manifest, "--health", "--json").standardOutputBytes)
            let last = lines.removeLast()
            let empty = try JSONValue.lines(
                larder.run("plan", none, "--health", "--format", "json").standardOutputBytes)
            try document.compare(lines, with: "plan --health --json")
            try document.compare([last] + empty, with: "Last line of plan --health --json")
            let kinds = try document.table("plan --health --json", "kind").words
            #expect(kinds == HealthFinding.Kind.allCases.map(\.rawValue))
            #expect(Set(kinds) == Set(last["findings"]?.object?.keys.map(\.self) ?? []))
        }
    }

    @Test func statusOutputIsDocumented() async throws {
        try await withFixture { larder in
            mkdir(larder.cache, 0o700)
            let empty = try larder.run("status", "--json").standardOutputBytes
            _ = try larder.prefetch(try mixed(larder))
            let full = try larder.run("status", "--format", "json").standardOutputBytes
            let reports = try JSONValue.lines(empty) + JSONValue.lines(full)
            try document.compare(reports, with: "status --json")
            let runs = reports.flatMap { $0["runs"]?.array ?? [] }.compactMap(\.object)
            try document.compare(runs, with: "Runs")
            let file = URL(fileURLWithPath: "\(larder.cache)/runs/prefetch.json")
            let record = try #require(JSONValue.lines(Data(contentsOf: file)).first)
            #expect(Set(record.keys) == Set(try document.table("Runs").words))
            #expect(record["started"]?.string?.hasSuffix("Z") == true)
            #expect(
                try document.table("Runs", "count").words
                    == RunRecord.Count.allCases.map(\.rawValue))
        }
    }

    @Test func configOutputIsDocumented() async throws {
        try await withFixture { larder in
            let file = try larder.write("--quiet\n--max-size=2GB\n".utf8, to: "larder.conf")
            var summaries: [[String: JSONValue]] = []
            let runs: [([String], String)] = [([], file), (["evict"], file), ([], "")]
            for (arguments, file) in runs {
                let finished = try larder.binary.run(
                    ["config"] + arguments + ["--json"],
                    environment: ["LARDER_CONFIG_PATH": file, "LARDER_CACHE": larder.cache])
                summaries += try JSONValue.lines(finished.standardOutputBytes)
            }
            try document.compare(summaries, with: "config --json")
            let options = summaries.flatMap { $0["options"]?.array ?? [] }.compactMap(\.object)
            try document.compare(options, with: "config --json", "key of an option")
        }
    }

    @Test func verifyOutputIsDocumented() async throws {
        try await withFixture { larder in
            func verify(_ options: String...) throws -> [String: JSONValue] {
                let finished = try larder.binary.run(
                    ["verify", "--json", "--cache", larder.cache, "--allow-private-network"]
                        + options)
                return try #require(JSONValue.lines(finished.standardOutputBytes).first)
            }
            let manifest = try mixed(larder)
            mkdir(larder.cache, 0o700)
            var reports = [try verify()]
            _ = try larder.prefetch(manifest)
            let png = larder.origin.url("/png")
            try larder.overwrite(try larder.objectPath(png), with: [1])
            try larder.overwrite(try larder.objectPath("svg"), with: [2])
            reports.append(try verify("--manifest", manifest))
            larder.origin.on("/svg", .status(404))
            reports.append(try verify("--repair"))
            reports.append(Self.stopped(reports[0]))
            try document.compare(reports, with: "verify --json")
            let findings = reports.flatMap { $0["findings"]?.array ?? [] }.compactMap(\.object)
            try document.compare(findings, with: "Findings")
            #expect(findings.contains { $0["urls"] == .array([.string(png)]) })
            let refetches = reports.flatMap { $0["refetches"]?.array ?? [] }.compactMap(\.object)
            try document.compare(refetches, with: "Refetches")
            try document.compare(refetches.compactMap { $0["error"]?.object }, with: "Errors")
            #expect(Set(refetches.compactMap { $0["url"]?.string }) == [png, "key:svg"])

            let words = try document.table("verify --json", "kind").words
            let kinds = VerifyReport.Finding.Kind.allCases
            #expect(words == kinds.map(\.rawValue))
            // The page calls "the first six kinds" corruption.
            #expect(kinds.map(\.isCorruption) == kinds.indices.map { $0 < 6 })
            #expect(
                try document.table("Findings", "repair").words
                    == VerifyReport.Finding.Repair.allCases.map(\.rawValue))
            #expect(
                try document.table("Refetches", "outcome").words
                    == VerifyReport.Refetch.Outcome.allCases.map(\.rawValue))
            let steps = try document.table("verify --json", "step").words
            #expect(steps == VerifyReport.Step.allCases.map(\.rawValue))
            #expect(
                reports.allSatisfy {
                    Set($0["steps"]?.object?.keys.map(\.self) ?? []) == Set(steps)
                })
        }
    }

    @Test func evictOutputIsDocumented() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try mixed(larder))
            let manifest = try larder.manifest(larder.origin.url("/png"), name: "keep.json")
            let index = try DatabaseQueue(path: "\(larder.cache)/index.sqlite")
            try await index.write { db in
                try db.execute(sql: "DELETE FROM resources WHERE key LIKE '%/stale'")
            }
            try index.close()
            var reports: [[String: JSONValue]] = []
            for options in [["--dry-run"], [], ["--keep", manifest]] {
                let arguments = ["evict", "--max-size", "0", "--json", "--cache", larder.cache]
                let finished = try larder.binary.run(arguments + options)
                var lines = try JSONValue.lines(finished.standardOutputBytes)
                reports.append(lines.removeLast())
                #expect(lines.isEmpty == !options.contains("--dry-run"))
                if !lines.isEmpty { try document.compare(lines, with: "Victims") }
            }
            reports.append(Self.stopped(reports[0]))
            try document.compare(reports, with: "evict --json")
            for (key, column, words) in [
                ("evicted", "reason", EvictionReport.Reason.allCases.map(\.rawValue)),
                ("kept", "hold", EvictionReport.Hold.allCases.map(\.rawValue)),
                ("swept", "leftover", EvictionReport.Leftover.allCases.map(\.rawValue)),
            ] {
                #expect(try document.table("evict --json", column).words == words)
                for report in reports {
                    let tallies = try #require(report[key]?.object)
                    #expect(Set(tallies.keys) == Set(words))
                    try document.compare(tallies.values.compactMap(\.object), with: "Tallies")
                }
            }
        }
    }

    @Test func listOutputIsDocumented() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try mixed(larder), options: ["--any-content"])
            let lines = try JSONValue.lines(larder.run("list", "--json").standardOutputBytes)
            try document.compare(lines, with: "list --json")
        }
    }

    @Test func snapshotOutputIsDocumented() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let sound = try larder.run("snapshot", larder.directory.path("sound"), "--json")
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1])
            let damaged = try larder.run("snapshot", larder.directory.path("left"), "--json")
            #expect((sound.status, damaged.status) == (0, 2))
            try document.compare(
                try [sound, damaged].flatMap { try JSONValue.lines($0.standardOutputBytes) },
                with: "snapshot --json")
        }
    }

    @Test func reindexOutputIsDocumented() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(urls: larder.origin.serveIcons(2)))
            let sound = try larder.run("reindex", "--json")
            #expect(sound.status == 0, "\(sound)")
            _ = try larder.write("not a database".utf8, to: "cache/index.sqlite")
            let damaged = try larder.run("reindex", "--json")
            #expect(damaged.status == 0, "\(damaged)")
            let objects =
                try JSONValue.lines(sound.standardOutputBytes)
                + JSONValue.lines(damaged.standardOutputBytes)
            try document.compare(objects, with: "reindex --json")
            let sources = try document.table("reindex --json").code("source", "meaning")
            #expect(sources == RecoveryReport.Source.allCases.map(\.rawValue))
        }
    }

    // MARK: -

    /// Writes a manifest with every outcome that needs neither an interrupt nor a remote. The
    /// outcomes `cached` and `revalidated` need a second prefetch.
    private func mixed(_ larder: CLIFixture) throws -> String {
        let origin = larder.origin
        origin.on("/png", .ok(Icons.png, type: "image/png"))
        origin.on("/svg", .ok(#"<svg xmlns="http://www.w3.org/2000/svg"/>"#))
        origin.on("/text", .ok("text"))
        origin.on("/secret", Icons.reply(2).header("Cache-Control", "no-store"))
        origin.on("/stale") { request in
            request.header("If-None-Match") == nil
                ? Icons.reply(1).header("ETag", "\"1\"").header("Cache-Control", "no-cache")
                : .notModified
        }
        return try larder.manifest([
            ["name": "PNG", "icon": origin.url("/png")], ["icon": origin.url("/png")],
            ["icon": origin.url("/svg"), "priority": "high", "key": "svg"],
            ["icon": origin.url("/stale")], ["icon": origin.url("/text")],
            ["icon": origin.url("/missing")], ["icon": origin.url("/secret")], ["name": "None"],
            ["icon": "file:///"], ["icon": "https://"],
        ])
    }

    private func documentedCodes() throws -> Set<String> {
        let headings = ["Entry codes", "Transfer codes", "Body codes"]
        let words = try headings.flatMap { try document.table($0, "code").words }
        return Set(words + (100...599).map { "http-\($0)" })
    }
}
