import Foundation
import LarderTestSupport
import Testing

/// `larder rehearse`, against the loopback origin. What is compared depends on no time.
@Suite(.timeLimit(.minutes(30))) struct RehearseTests {
    @Test func theSandboxDownloadsEachIconOnce() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(40)
            let run = try larder.rehearse(try larder.manifest(urls: urls + urls))
            #expect(run.finished.status == 0, "\(run.finished)")
            #expect(run.finished.standardError.isEmpty, "\(run.finished)")
            #expect(run.report["rows"] == .integer(80))
            #expect(run.report["urls"] == .integer(40))
            #expect(run.report["interrupted"] == .boolean(false))
            let sandbox = try #require(run.strategies.first)
            #expect(run.strategies.count == 1)
            #expect(sandbox["strategy"] == .string("sandbox"))
            #expect(sandbox["rows_shown"] == .integer(80 + 68))
            #expect(sandbox["requests"] == .integer(40))
            #expect(sandbox["downloads"] == .integer(40))
            #expect(sandbox["repeated_downloads"] == .integer(0))
            #expect(sandbox["wrong_images"] == .integer(0))
            #expect(larder.origin.count() == 40)
            #expect((0..<40).allSatisfy { larder.origin.count("/\($0)") == 1 })
            // Neither the user's cache nor a temporary one.
            #expect(try larder.leftovers() == [])
        }
    }

    @Test func aComparisonShowsTheLiteraturesPicture() async throws {
        try await withFixture { larder in
            let urls = larder.servePaddedIcons(60, bytes: 10_000)
            let chart = larder.directory.path("memory.svg")
            let run = try larder.rehearse(
                try larder.manifest(urls: urls), "--compare", "--memory-limit", "200kB",
                "--rows-visible", "6", "--prefetch-ahead", "6", "--chart", chart,
                "--max-concurrent", "4")
            #expect(run.finished.status == 0, "\(run.finished)")
            let names = ["synchronous", "asynchronous", "memory", "coalescing", "sandbox"]
            #expect(run.strategies.compactMap { $0["strategy"]?.string } == names)
            let figures = Dictionary(uniqueKeysWithValues: zip(names, run.strategies))
            func count(_ key: String, _ name: String) throws -> Int {
                try #require(figures[name]?[key]?.integer, "\(name) \(key)")
            }
            for name in names {
                #expect(try count("rows_shown", name) == 114)
                #expect(try count("wrong_images", name) == 0)
                #expect(try count("peak_resident_bytes", name) > 1 << 20)
                let downloads = try count("downloads", name)
                #expect(try count("repeated_downloads", name) == downloads - 60)
            }
            #expect(try names.reduce(0) { try $0 + count("requests", $1) } == larder.origin.count())
            for name in ["memory", "coalescing"] {
                #expect(try count("memory_warnings", name) >= 3)
                #expect(try count("peak_held_bytes", name) >= 200_000)
                #expect(try count("downloads", name) > 80)
            }
            #expect(try count("memory_warnings", "sandbox") == 0)
            #expect(try count("peak_held_bytes", "sandbox") < 200_000)
            #expect(try count("downloads", "sandbox") == 60)
            let svg = try String(contentsOfFile: chart, encoding: .utf8)
            for name in names { #expect(svg.contains(">\(name)</text>")) }
            #expect(try larder.leftovers() == [])
        }
    }

    @Test func aComparisonReadsAPipeOnce() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(5)
            let manifest = try JSONSerialization.data(withJSONObject: urls.map { ["icon": $0] })
            let trace = try larder.write(
                #"{"time": 0, "first": 1, "visible": 3}"#.utf8, to: "trace.jsonl")
            let run = try larder.rehearse(
                "-", "--compare", "--trace", trace, standardInput: manifest)
            #expect(run.finished.status == 0, "\(run.finished)")
            #expect(
                run.strategies.map { $0["rows_shown"] } == Array(repeating: .integer(3), count: 5))
            #expect(run.report["rows_visible"] == .integer(3))
        }
    }

    @Test func aComparisonReadsATraceFromAPipeOnce() async throws {
        try await withFixture { larder in
            let run = try larder.rehearse(
                larder.manifest(urls: larder.origin.serveIcons(5)),
                "--compare", "--trace", "/dev/stdin",
                standardInput: Data(#"{"time": 0, "first": 1, "visible": 3}"#.utf8))
            #expect(run.finished.status == 0, "\(run.finished)")
            #expect(
                run.strategies.map { $0["rows_shown"] } == Array(repeating: .integer(3), count: 5))
        }
    }

    @Test func theTableHasAColumnForEachStrategy() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(5))
            let arguments = larder.rehearseArguments(manifest)
            let one = try larder.binary.run(arguments + ["--strategy", "memory"])
            #expect(one.standardOutput.hasPrefix("5 rows, 12 visible, 24 ahead; memory limit"))
            #expect(one.standardOutput.contains("memory"))
            let all = try larder.binary.run(arguments + ["--compare"])
            let lines = all.standardOutput.split(separator: "\n").dropFirst()
            #expect(Set(lines.map(\.count)).count == 1, "\(all)")
            let quiet = try larder.binary.run(arguments + ["-q"])
            #expect(quiet.standardOutput.isEmpty)
            #expect(quiet.standardError.isEmpty)
        }
    }

    @Test func aCacheThatIsNamedIsUsedAndFilled() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(20))
            let first = try larder.rehearse(manifest, "--cache", larder.cache)
            #expect(first.strategies.first?["downloads"] == .integer(20))
            #expect(try larder.verify() == 0)
            let second = try larder.rehearse(manifest, "--cache", larder.cache)
            #expect(second.strategies.first?["requests"] == .integer(0))
            #expect(second.strategies.first?["network_images"] == .integer(0))
            #expect(larder.origin.count() == 20)
            // What it has stored is a cache like any other.
            let third = try larder.prefetch(manifest)
            #expect(third.summary.cached + third.summary.revalidated == 20)
        }
    }

    @Test func whatAPrefetchHasFilledIsRead() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(20))
            #expect(try larder.prefetch(manifest).status == 0)
            larder.origin.resetLog()
            let run = try larder.rehearse(manifest, "--cache", larder.cache)
            #expect(run.finished.status == 0)
            #expect(run.strategies.first?["requests"] == .integer(0))
            #expect(larder.origin.count() == 0)
        }
    }

    /// `URL` spells it otherwise than the cache. Each was once downloaded again, and its image
    /// counted as another row's.
    @Test func charactersThatURLEncodesMakeNoDifference() async throws {
        try await withFixture { larder in
            let icon = Reply.ok(IconPainter.png(seed: 1, size: 8), type: "image/png")
            for path in ["/a|b[1].png", "/a%7Cb%5B1%5D.png"] { larder.origin.on(path, icon) }
            let manifest = try larder.manifest(urls: [larder.origin.url("/a|b[1].png")])
            let downloading = try larder.rehearse(manifest)
            #expect(downloading.finished.status == 0, "\(downloading.finished)")
            #expect(downloading.strategies.first?["downloads"] == .integer(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let reading = try larder.rehearse(manifest, "--cache", larder.cache)
            #expect(reading.finished.status == 0, "\(reading.finished)")
            #expect(reading.strategies.first?["requests"] == .integer(0))
        }
    }

    @Test func iconsThatAreNotThereFail() async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let urls = origin.serveIcons(3) + [origin.url("/gone?token=s3cret")]
            let run = try larder.rehearse(try larder.manifest(urls: urls))
            #expect(run.finished.status == 2)
            #expect(run.strategies.first?["failed"] == .integer(1))
            #expect(run.finished.standardError.contains("1 request failed"))
            #expect(run.finished.standardError.contains("/gone?token=***"), "\(run.finished)")
            #expect(!run.finished.description.contains("s3cret"))
            let quiet = try larder.binary.run(
                larder.rehearseArguments(try larder.manifest(urls: urls)) + ["-q"])
            #expect(quiet.status == 2)
            #expect(quiet.standardError.split(separator: "\n").count == 1)
        }
    }

    @Test func privateAddressesAreRefused() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            let finished = try larder.binary.run(["rehearse", manifest])
            #expect(finished.status == 2)
            #expect(finished.standardError.contains("--allow-private-network"))
            #expect(larder.origin.count() == 0)
        }
    }

    @Test func entriesWithoutAnIconAreRows() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest([["icon": url], ["name": "none"], ["icon": 7]])
            let run = try larder.rehearse(manifest)
            #expect(run.report["rows"] == .integer(3))
            #expect(run.report["rows_without_icon"] == .integer(2))
            #expect(run.report["bad_entries"] == .integer(1))
            #expect(run.strategies.first?["rows_shown"] == .integer(1))
            #expect(run.finished.status == 2)
            #expect(run.finished.standardError.contains("entry 3: icon is"))
        }
    }

    @Test func aCacheThatCannotBeUsed() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(3))
            let run = try larder.rehearse(manifest, "--cache", try larder.brokenCache())
            #expect(run.finished.status == 1, "\(run.finished)")
            #expect(run.finished.standardError.contains("icons could not be stored"))
        }
    }
}
