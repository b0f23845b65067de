import Foundation
import LarderTestSupport
import Testing

@testable import rehearse

/// The program `rehearse` with a loopback origin. No expectation depends on time.
@Suite(.timeLimit(.minutes(30))) struct RehearseTests {
    @Test func theSandboxDownloadsEachIconOnce() async throws {
        try await withFixture { fixture in
            let urls = fixture.serveIcons(40)
            let run = try fixture.rehearse(try fixture.manifest(urls: urls + urls))
            #expect(run.finished.status == 0, "\(run.finished)")
            #expect(run.finished.standardError.isEmpty, "\(run.finished)")
            #expect(run.report["rows"] as? Int == 80)
            #expect(run.report["urls"] as? Int == 40)
            #expect(run.report["interrupted"] as? Bool == false)
            #expect(run.strategies.map { $0["strategy"] as? String } == ["sandbox"])
            #expect(run.count("rows_shown") == 80 + 68)
            #expect(run.count("requests") == 40)
            #expect(run.count("downloads") == 40)
            #expect(run.count("repeated_downloads") == 0)
            #expect(run.count("wrong_images") == 0)
            #expect((0..<40).allSatisfy { fixture.origin.count("/\($0)") == 1 })
            // The temporary cache was removed.
            #expect(try fixture.leftovers() == [])
        }
    }

    /// As in `Scripts/rehearsals`, each strategy runs in its own process. The last one reads the
    /// reports of the other strategies.
    @Test func aComparisonAgreesWithTheLiterature() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(60, bytes: 10_000))
            let options = [
                "--memory-limit", "200kB", "--rows-visible", "6", "--prefetch-ahead", "6",
                "--max-concurrent", "4",
            ]
            var figures: [String: [String: Any]] = [:]
            var beside: [String] = []
            for name in StrategyName.allCases.map(\.rawValue) {
                let finished = try fixture.binary.run(
                    fixture.arguments(manifest) + options + ["--strategy", name, "--json"])
                #expect(finished.status == 0, "\(finished)")
                let report = try fixture.write(finished.standardOutputBytes, to: "\(name).json")
                beside += ["--beside", report]
                figures[name] = try #require(
                    (try JSONSerialization.jsonObject(with: Data(finished.standardOutputBytes))
                        as? [String: Any])?["strategies"] as? [[String: Any]]
                ).first
            }
            func count(_ key: String, _ name: String) throws -> Int {
                try #require(figures[name]?[key] as? Int, "\(name) \(key)")
            }
            for name in figures.keys {
                #expect(try count("rows_shown", name) == 114)
                #expect(try count("wrong_images", name) == 0)
                #expect(try count("peak_resident_bytes", name) > 1 << 20)
                let downloads = try count("downloads", name)
                #expect(try count("repeated_downloads", name) == downloads - 60)
            }
            let requests = try figures.keys.reduce(0) { try $0 + count("requests", $1) }
            #expect(requests == fixture.origin.count())
            for name in ["memory", "coalescing"] {
                #expect(try count("memory_warnings", name) >= 3)
                #expect(try count("peak_held_bytes", name) >= 200_000)
                #expect(try count("downloads", name) > 80)
            }
            #expect(try count("memory_warnings", "sandbox") == 0)
            #expect(try count("peak_held_bytes", "sandbox") < 200_000)
            #expect(try count("downloads", "sandbox") == 60)

            let chart = fixture.directory.path("memory.svg")
            let last = try fixture.binary.run(
                fixture.arguments(manifest) + options + beside.dropLast(2) + ["--chart", chart])
            #expect(last.status == 0, "\(last)")
            let lines = last.standardOutput.split(separator: "\n").dropFirst()
            #expect(Set(lines.map(\.count)).count == 1, "\(last)")
            let svg = try String(contentsOfFile: chart, encoding: .utf8)
            for name in figures.keys {
                #expect(lines.first?.contains(name) == true)
                #expect(svg.contains(">\(name)</text>"))
            }
        }
    }

    @Test func aManifestFromStandardInputIsRead() async throws {
        try await withFixture { fixture in
            let manifest = try JSONSerialization.data(
                withJSONObject: fixture.serveIcons(5).map { ["logo": $0] })
            let trace = try fixture.write(
                #"{"time": 0, "first": 1, "visible": 3}"#.utf8, to: "trace.jsonl")
            let finished = try fixture.binary.run(
                fixture.arguments("-") + ["--trace", trace, "--icon-key", "logo"],
                standardInput: manifest)
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardOutput.hasPrefix("5 rows, 3 visible, 24 ahead; memory limit"))
        }
    }

    @Test func theCacheOptionUsesAndFillsACache() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(20))
            let first = try fixture.rehearse(manifest, "--cache", fixture.cache)
            #expect(first.count("downloads") == 20)
            let second = try fixture.rehearse(manifest, "--cache", fixture.cache)
            #expect(second.count("requests") == 0)
            #expect(second.count("network_images") == 0)
            #expect(fixture.origin.count() == 20)
            let verified = try LarderBinary().run(["verify", "--cache", fixture.cache])
            #expect(verified.status == 0, "\(verified)")
        }
    }

    /// `URL` spells such a URL differently from the cache. If the spellings did not match, the icon
    /// would be downloaded again and count as another row's.
    @Test func iconsAreFoundDespiteCharactersThatURLEncodes() async throws {
        try await withFixture { fixture in
            let icon = Reply.ok(IconPainter.png(seed: 1, size: 8), type: "image/png")
            for path in ["/a|b[1].png", "/a%7Cb%5B1%5D.png"] { fixture.origin.on(path, icon) }
            let manifest = try fixture.manifest(urls: [fixture.origin.url("/a|b[1].png")])
            let downloading = try fixture.rehearse(manifest)
            #expect(downloading.finished.status == 0, "\(downloading.finished)")
            #expect(downloading.count("downloads") == 1)
            try fixture.prefetch(manifest)
            let reading = try fixture.rehearse(manifest, "--cache", fixture.cache)
            #expect(reading.finished.status == 0, "\(reading.finished)")
            #expect(reading.count("requests") == 0)
        }
    }

    @Test func missingIconsAreReportedWithMaskedURLs() async throws {
        try await withFixture { fixture in
            let urls = fixture.serveIcons(3) + [fixture.origin.url("/gone?token=s3cret")]
            let run = try fixture.rehearse(try fixture.manifest(urls: urls))
            #expect(run.finished.status == 2)
            #expect(run.count("failed") == 1)
            #expect(run.finished.standardError.contains("1 request failed"))
            #expect(run.finished.standardError.contains("/gone?token=***"), "\(run.finished)")
            #expect(!run.finished.description.contains("s3cret"))
        }
    }

    @Test func privateAddressesAreRefused() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(1))
            let finished = try fixture.binary.run([manifest])
            #expect(finished.status == 2)
            #expect(finished.standardError.contains("--allow-private-network"), "\(finished)")
            #expect(fixture.origin.count() == 0)
        }
    }

    @Test func entriesWithoutAnIconAreRows() async throws {
        try await withFixture { fixture in
            let url = fixture.serveIcons(1)[0]
            let manifest = try fixture.manifest([["icon": url], ["name": "none"], ["icon": 7]])
            let run = try fixture.rehearse(manifest)
            #expect(run.report["rows"] as? Int == 3)
            #expect(run.report["rows_without_icon"] as? Int == 2)
            #expect(run.report["bad_entries"] as? Int == 1)
            #expect(run.count("rows_shown") == 1)
            #expect(run.finished.status == 2)
            #expect(run.finished.standardError.contains("entry 3: icon is"))
        }
    }

    @Test(arguments: [[], [["icon": "data:image/png;base64,iVBORw0KGgo="]]])
    func aManifestWithoutIconsIsReported(_ entries: [[String: String]]) async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(entries)
            let finished = try fixture.binary.run(fixture.arguments(manifest))
            #expect(finished.status == 0, "\(finished)")
            #expect(
                finished.standardOutput.hasSuffix(": no icons to rehearse\n"), "\(finished)"
            )
            #expect(finished.standardOutput.hasPrefix("\(entries.count) row"), "\(finished)")
            #expect(finished.standardError.isEmpty)
            let run = try fixture.rehearse(manifest)
            #expect(run.report["rows"] as? Int == entries.count)
            #expect(run.strategies.isEmpty)
        }
    }

    @Test func unusableCachesAreReported() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(3))
            let broken = try fixture.rehearse(manifest, "--cache", try fixture.brokenCache())
            #expect(broken.finished.status == 1, "\(broken.finished)")
            #expect(broken.finished.standardError.contains("icons could not be stored"))
            fixture.origin.resetLog()
            _ = try fixture.write("no cache".utf8, to: "file")
            for cache in ["file", "file/in"] {
                let run = try fixture.binary.run(
                    fixture.arguments(manifest) + ["--cache", fixture.directory.path(cache)])
                #expect(run.status == 1, "\(run)")
                #expect(run.standardOutput.isEmpty)
            }
            #expect(fixture.origin.count() == 0)
        }
    }

    @Test func missingAndWrongInputsAreReported() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(3))
            func run(_ arguments: [String], _ status: Int32, _ message: String) throws {
                let finished = try fixture.binary.run(arguments)
                #expect(finished.status == status, "\(finished)")
                #expect(finished.standardError.contains(message), "\(finished)")
                #expect(finished.standardOutput.isEmpty)
            }
            let arguments = fixture.arguments(manifest)
            let none = fixture.directory.path("none")
            for (text, message) in [
                ("", "has no events"), ("{", "line 1: is not JSON"),
                (
                    #"{"time": 1, "first": 3, "visible": 2}"#,
                    "line 1: 'first' must be an integer from 0 to 2"
                ),
            ] {
                let trace = try fixture.write(text.utf8, to: "trace.jsonl")
                try run(arguments + ["--trace", trace], 65, "trace.jsonl: \(message)")
            }
            try run(arguments + ["--trace", none], 66, "cannot open")
            try run(fixture.arguments(none), 66, "none")
            let broken = try fixture.write("[{".utf8, to: "broken.json")
            try run(fixture.arguments(broken), 65, "broken.json")
            try run(arguments + ["--beside", broken], 65, "broken.json: is not a report")
            try run(arguments + ["--speed", "2"], 64, "--wait-for-images cannot be used")
            #expect(fixture.origin.count() == 0)
        }
    }

    @Test(arguments: [SIGINT, SIGTERM], ["synchronous", "sandbox"])
    func anInterruptEndsARehearsal(_ signal: Int32, _ strategy: String) async throws {
        try await withFixture { fixture in
            let gate = try Gate()
            fixture.origin.onAny { _ in
                Reply.ok(RehearsalFixture.icon(1), type: "image/svg+xml").heldBy(gate)
            }
            let urls = (0..<50).map { fixture.origin.url("/\($0)") }
            let chart = fixture.directory.path("memory.svg")
            let process = try fixture.binary.start(
                fixture.arguments(try fixture.manifest(urls: urls))
                    + ["--strategy", strategy, "--chart", chart, "--stall-timeout", "1h"],
                environment: ["TMPDIR": try fixture.temporaryDirectory()])
            try await fixture.origin.waitForRequests(1)
            process.kill(signal)
            let finished = try process.wait()
            gate.open()
            #expect(finished.status == (signal == SIGINT ? 130 : 143), "\(finished)")
            #expect(finished.standardOutput.contains("left before the image arrived"))
            #expect(finished.standardError.contains("interrupted; incomplete: \(strategy)\n"))
            #expect(FileManager.default.fileExists(atPath: chart))
            #expect(try fixture.leftovers() == [])
        }
    }

    @Test(arguments: [
        [], ["m", "--scroll", "sideways"], ["m", "--scroll", "slow", "--trace", "a.jsonl"],
        ["m", "--trace", ""], ["m", "--trace", "a", "--rows-visible", "12"],
        ["m", "--rows-visible", "0"], ["m", "--prefetch-ahead", "-1"], ["m", "--speed", "0"],
        ["m", "--speed", "nan"], ["m", "--speed", "1", "--wait-for-images"],
        ["m", "--strategy", "hope"], ["m", "--strategy", "memory", "--cache", "cache"],
        ["m", "--cache", ""], ["m", "--memory-limit", "5"], ["m", "--memory-limit", "5Mbit"],
        ["m", "--latency", "soon"], ["m", "--latency", "-1ms"], ["m", "--bandwidth", "0"],
        ["m", "--bandwidth", "1MB/h"], ["m", "--chart", ""], ["m", "--chart", "-"],
        ["m", "--chart", "a.png"], ["m", "--base-url", "x"], ["m", "--entries", "a[x"],
        ["m", "--stall-timeout", "0"], ["m", "--max-concurrent", "0"],
    ])
    func wrongOptionsAreRefused(_ arguments: [String]) {
        #expect(throws: (any Error).self) { try RehearseCommand.parse(arguments) }
    }

    @Test func sizesAndTimesAcceptUnits() throws {
        let command = try RehearseCommand.parse(
            ["m", "--memory-limit", "16MiB", "--bandwidth", "1.5MB/s", "--latency", "40ms"])
        #expect(command.strategy.memoryLimit == 16 * 1024 * 1024)
        #expect(command.strategy.bandwidth == 1_500_000)
        #expect(command.strategy.latency == 0.04)
    }

    @Test func theDocumentationHasExactlyTheKeysOfAReport() async throws {
        try await withFixture { fixture in
            let manifest = try fixture.manifest(urls: fixture.serveIcons(30, bytes: 1000))
            let run = try fixture.rehearse(
                manifest, "--strategy", "memory", "--memory-limit", "20kB")
            var keys = Set(run.report.keys).union(run.strategies[0].keys)
            for list in ["warnings", "memory"] {
                let objects = try #require(run.strategies[0][list] as? [[String: Any]])
                keys.formUnion(try #require(objects.first).keys)
            }
            let page = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
                .appendingPathComponent("../../docs/benchmarks.md").standardizedFileURL
            let text = try String(contentsOf: page, encoding: .utf8)
            let tables = text.split(separator: "## The report in JSON").last ?? ""
            // A row can list several keys.
            let documented = tables.matches(of: /(?m)^\| (`[^|]+`) \|/).flatMap { row in
                row.output.1.matches(of: /`(\w+)`/).map { String($0.output.1) }
            }
            #expect(Set(documented) == keys)
        }
    }
}
