import Foundation
import GRDB
import LarderCache
import LarderExport
import LarderRehearsal
import LarderS3
import LarderTestSupport
import LarderTransfer
import Testing

@testable import LarderKit

/// `docs/output.md` against real output, in both directions.
@Suite struct OutputContractTests {
    private let document: OutputDocument

    init() throws { document = try OutputDocument() }

    // MARK: Keys

    /// The same of a run whose disk has failed, which takes a disk.
    private static func stopped(_ report: [String: JSONValue]) -> [String: JSONValue] {
        report.merging(["error": .object(["code": .string("storage")])]) { $1 }
    }

    @Test func prefetch() async throws {
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
            // With a remote that nobody answers for.
            let nowhere = ["--remote", "s3://none", "--remote-endpoint", "http://127.0.0.1:9"]
            try prefetch(manifest, options: nowhere + ["--remote-unsigned"])
            // A file where the objects were: the cache cannot go on.
            let url = larder.origin.url("/unlucky")
            let objects = "\(larder.cache)/objects/sha256"
            larder.origin.on("/unlucky") { _ in
                rename(objects, objects + ".aside")
                close(open(objects, O_WRONLY | O_CREAT, 0o644))
                return Icons.reply(1000)
            }
            try prefetch(try larder.manifest(url, name: "unlucky.json"))

            try compare(summaries, with: "prefetch --json")
            try compare(lines, with: "prefetch --report")
            try compare((summaries + lines).compactMap { $0["error"]?.object }, with: "Errors")
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
            // `RemoteOutputTests` has the two that take a remote.
            #expect(
                outcomes.union(["pulled", "shared"])
                    == Set(try document.table("Outcomes", "outcome").words))
        }
    }

    @Test func plan() async throws {
        try await withFixture { larder in
            let manifest = try mixed(larder)
            _ = try larder.prefetch(manifest)
            // Not there before: missing.
            let more = try larder.manifest(larder.origin.url("/more"), name: "more.json")
            var lines = try JSONValue.lines(
                larder.run("plan", manifest, more, "--json").standardOutputBytes)
            let last = lines.removeLast()
            try compare(lines, with: "plan --json")
            try compare([last], with: "Last line of plan --json")
            try compare(lines.compactMap { $0["error"]?.object }, with: "Errors")
            try compare(
                lines.compactMap { $0["last_failure"]?.object }, with: "Past failures")
            let index = try larder.write(
                #"{"repo":{"address":"https://a.example"},"apps":[{"packageName":"a","icon":"a"}]}"#
                    .utf8, to: "index.json")
            let empty = try larder.manifest([], name: "empty.json")
            let explained = try JSONValue.lines(
                larder.run("plan", index, empty, "--json", "--explain").standardOutputBytes
                    + larder.run(
                        "plan", more, "--json", "--explain", "--priority-key", "rank",
                        "--integrity-key", "hash"
                    ).standardOutputBytes)
            try compare(
                explained.filter { $0["shape"] != nil }, with: "Lines of plan --explain --json")
            let statuses = Set(lines.compactMap { $0["status"]?.string })
            #expect(statuses == Set(try document.table("plan --json", "status").words))
        }
    }

    @Test func rehearse() async throws {
        try await withFixture { larder in
            let urls = larder.servePaddedIcons(30, bytes: 1000)
            let manifest = try larder.manifest(urls: urls)
            let gone = try larder.manifest(larder.origin.url("/gone"), name: "gone.json")
            let runs = [
                try larder.rehearse(manifest, "--strategy", "memory", "--memory-limit", "20kB"),
                try larder.rehearse(manifest, "--cache", try larder.brokenCache()),
                try larder.rehearse(gone),
            ]
            try compare(runs.map(\.report), with: "rehearse --json")
            let strategies = runs.flatMap(\.strategies)
            try compare(strategies, with: "Strategies")
            func objects(_ key: String) -> [[String: JSONValue]] {
                strategies.flatMap { $0[key]?.array ?? [] }.compactMap(\.object)
            }
            try compare(objects("memory"), with: "Memory over time")
            try compare(objects("warnings"), with: "Memory warnings")
            for key in ["first_error", "store_error"] {
                try compare(strategies.compactMap { $0[key]?.object }, with: "Errors")
            }
            #expect(
                try document.table("Strategies", "strategy").words
                    == StrategyName.allCases.map(\.rawValue))
        }
    }

    @Test func status() async throws {
        try await withFixture { larder in
            let empty = try larder.run("status", "--json").standardOutputBytes
            _ = try larder.prefetch(try mixed(larder))
            let full = try larder.run("status", "--format", "json").standardOutputBytes
            let reports = try JSONValue.lines(empty) + JSONValue.lines(full)
            try compare(reports, with: "status --json")
            let runs = reports.flatMap { $0["runs"]?.array ?? [] }.compactMap(\.object)
            try compare(runs, with: "Runs")
            let file = URL(fileURLWithPath: "\(larder.cache)/runs/prefetch.json")
            let record = try #require(JSONValue.lines(Data(contentsOf: file)).first)
            #expect(Set(record.keys) == Set(try document.table("Runs").words))
            #expect(record["started"]?.string?.hasSuffix("Z") == true)
            #expect(
                try document.table("Runs", "count").words
                    == RunRecord.Count.allCases.map(\.rawValue))
        }
    }

    @Test func verify() async throws {
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
            try compare(reports, with: "verify --json")
            let findings = reports.flatMap { $0["findings"]?.array ?? [] }.compactMap(\.object)
            try compare(findings, with: "Findings")
            #expect(findings.contains { $0["urls"] == .array([.string(png)]) })
            let refetches = reports.flatMap { $0["refetches"]?.array ?? [] }.compactMap(\.object)
            try compare(refetches, with: "Refetches")
            try compare(refetches.compactMap { $0["error"]?.object }, with: "Errors")
            #expect(Set(refetches.compactMap { $0["url"]?.string }) == [png, "key:svg"])

            let words = try document.table("verify --json", "kind").words
            let kinds = VerifyReport.Finding.Kind.allCases
            #expect(words == kinds.map(\.rawValue))
            // "The first six" are the ones that the page calls so.
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

    @Test func evict() async throws {
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
                if !lines.isEmpty { try compare(lines, with: "Victims") }
            }
            reports.append(Self.stopped(reports[0]))
            try compare(reports, with: "evict --json")
            for (key, column, words) in [
                ("evicted", "reason", EvictionReport.Reason.allCases.map(\.rawValue)),
                ("kept", "hold", EvictionReport.Hold.allCases.map(\.rawValue)),
                ("swept", "leftover", EvictionReport.Leftover.allCases.map(\.rawValue)),
            ] {
                #expect(try document.table("evict --json", column).words == words)
                for report in reports {
                    let tallies = try #require(report[key]?.object)
                    #expect(Set(tallies.keys) == Set(words))
                    try compare(tallies.values.compactMap(\.object), with: "Tallies")
                }
            }
        }
    }

    @Test func list() async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try mixed(larder), options: ["--any-content"])
            let lines = try JSONValue.lines(larder.run("list", "--json").standardOutputBytes)
            try compare(lines, with: "list --json")
        }
    }

    @Test func snapshot() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let sound = try larder.run("snapshot", larder.directory.path("sound"), "--json")
            try larder.overwrite(try larder.objectPath(urls[0]), with: [1])
            let damaged = try larder.run("snapshot", larder.directory.path("left"), "--json")
            #expect((sound.status, damaged.status) == (0, 2))
            try compare(
                try [sound, damaged].flatMap { try JSONValue.lines($0.standardOutputBytes) },
                with: "snapshot --json")
        }
    }

    @Test func export() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls[0])).status == 0)
            let manifest = try larder.manifest(
                [["icon": urls[0]], ["icon": urls[1]], ["icon": "ftp://a.example/"], [:]],
                name: "some.json")
            let place = larder.directory.path("seed")
            let arguments = [place, "--layout", "nuke", "--manifest", manifest, "--json"]
            let finished = try larder.run(arguments: ["export"] + arguments)
            #expect(finished.status == 2)
            let reports = try JSONValue.lines(finished.standardOutputBytes)
            try compare(reports, with: "export --json")
            let failures = reports.flatMap { $0["failures"]?.array ?? [] }.compactMap(\.object)
            try compare(failures, with: "Failures of an export")
            let reasons = try document.table("Reasons of an export", "reason")
            #expect(reasons.words == ExportProblem.Code.allCases.map(\.rawValue))
            for code in ExportProblem.Code.allCases {
                let kind = reasons.cell(code.rawValue, "skipped or failed")
                #expect(kind == (code.isSkip ? "skipped" : "failed"))
            }
            let report = try #require(reports.first)
            let counts = [
                "linked", "cloned", "copied", "unchanged", "duplicates", "skipped", "failed",
                "unfinished",
            ]
            let sum = counts.reduce(0) { $0 + (report[$1]?.integer ?? 0) }
            #expect(report["icons"] == .integer(sum))
        }
    }

    @Test func importing() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let place = larder.directory.path("seed")
            #expect(try larder.run("export", place, "--layout", "nuke").status == 0)
            let folder = place + "/com.github.kean.Nuke.DataCache/"
            let names = try FileManager.default.contentsOfDirectory(atPath: folder)
            unlink(folder + names[0])
            #expect(symlink("/etc/hostname", folder + names[0]) == 0)
            let manifest = try larder.manifest(
                urls.map { ["icon": $0] } + [["icon": "ftp://a.example/"], [:]], name: "some.json")
            let finished = try larder.binary.run([
                "import", place, "--layout", "nuke", "--manifest", manifest, "--json", "--cache",
                larder.directory.path("copy"),
            ])
            #expect(finished.status == 2)
            let reports = try JSONValue.lines(finished.standardOutputBytes)
            try compare(reports, with: "import --json")
            let failures = reports.flatMap { $0["failures"]?.array ?? [] }.compactMap(\.object)
            try compare(failures, with: "Failures of an import")
            let reasons = try document.table("Reasons of an import", "reason")
            #expect(reasons.words == ImportProblem.Code.allCases.map(\.rawValue))
            for code in ImportProblem.Code.allCases {
                let kind = reasons.cell(code.rawValue, "skipped or failed")
                #expect(kind == (code.isSkip ? "skipped" : "failed"))
            }
        }
    }

    @Test func reindex() async throws {
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
            try compare(objects, with: "reindex --json")
            let sources = try document.table("reindex --json").code("source", "meaning")
            #expect(sources == RecoveryReport.Source.allCases.map(\.rawValue))
        }
    }

    // MARK: Words

    @Test func words() throws {
        #expect(
            try document.table("Outcomes", "outcome").words
                == EntryResult.Outcome.allCases.map(\.rawValue))
        let entries = try document.table("Codes of entries that cannot be used", "code").words
        #expect(
            Set(entries)
                == Set(EntryError.Code.allCases.map(\.rawValue)).union([
                    "no-icon", EntryProblem.notFailedBefore.code, EntryProblem.offline.code,
                ]))
        let transfers = try document.table("Codes of transfers that failed", "code").words
        let bodies = try document.table("Codes of bodies that are refused", "code").words
        let expected =
            TransferError.Code.allCases.map(\.rawValue) + ImageFault.Code.allCases.map(\.rawValue)
            + FetchFailure.Reason.allCases.map(\.rawValue) + ["http-<status>"]
        #expect(Set(transfers + bodies) == Set(expected))
        let remotes = try document.table("Codes of remotes", "code").words
        #expect(remotes == StorageError.Code.allCases.map(\.rawValue))
        let caches = try document.table("Codes of caches", "code").words
        #expect(Set(caches) == Set(CacheError.Code.allCases.map(\.rawValue)))
    }

    /// What the page marks as tried again is what is tried again.
    @Test func transientCodes() throws {
        let table = try document.table("Codes of transfers that failed", "code")
        for code in TransferError.Code.allCases {
            let failure = FetchFailure(TransferError(code: code, message: ""))
            let isMarked = table.cell(code.rawValue, "meaning")?.hasPrefix("+ ") == true
            #expect(failure.isTransient == isMarked, "\(code.rawValue)")
        }
        let bodies = try document.table("Codes of bodies that are refused", "code")
        for reason in FetchFailure.Reason.allCases {
            let meaning =
                table.cell(reason.rawValue, "meaning") ?? bodies.cell(reason.rawValue, "meaning")
            let isMarked = meaning?.hasPrefix("+ ") == true
            #expect(FetchFailure(reason, "").isTransient == isMarked, "\(reason.rawValue)")
        }
        let statuses = (400...599).filter { FetchFailure(status: $0).isTransient }
        #expect(statuses == RetryPolicy.retriedStatuses.sorted())
        let meaning = try #require(table.cell("http-<status>", "meaning"))
        let stated = meaning.split { !$0.isNumber }.compactMap { Int($0) }
        #expect(statuses == stated)
    }

    @Test func exitStatuses() throws {
        let help = try LarderBinary().run(["--help"]).standardOutput
        let stated = help.matches(of: /(?m)^  (\d+)[ ]/).map { String($0.output.1) }
        #expect(try document.table("Exit status", "status").words == stated)
    }

    // MARK: -

    /// Writes a manifest with every outcome that one can have without an interrupt, but for
    /// `cached` and `revalidated`, which come with its second prefetch.
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
            ["icon": "file:///"],
        ])
    }

    private func documentedCodes() throws -> Set<String> {
        let headings = [
            "Codes of entries that cannot be used", "Codes of transfers that failed",
            "Codes of bodies that are refused",
        ]
        let words = try headings.flatMap { try document.table($0, "code").words }
        return Set(words + (100...599).map { "http-\($0)" })
    }

    /// Every key of every object is in the table, and every one of the table in every object; the
    /// types are the table's; a value is null somewhere exactly where the table says so.
    private func compare(
        _ objects: [[String: JSONValue]], with heading: String,
        _ location: SourceLocation = #_sourceLocation
    ) throws {
        let table = try document.table(heading)
        #expect(table.columns == ["key", "type", "unit", "null", "meaning"])
        #expect(!objects.isEmpty, sourceLocation: location)
        for object in objects {
            #expect(Set(object.keys) == Set(table.words), sourceLocation: location)
        }
        for key in table.words {
            let values = objects.compactMap { $0[key] }
            let type = table.cell(key, "type") ?? ""
            #expect(
                values.allSatisfy { $0 == .null || $0.isOf(type) },
                "\(key) is no \(type): \(values)", sourceLocation: location)
            #expect(
                values.contains { $0 != .null }, "\(key) is always null", sourceLocation: location)
            #expect(
                values.contains(.null) == (table.cell(key, "null") != "never"),
                "\(key): null is not as documented", sourceLocation: location)
        }
    }
}
