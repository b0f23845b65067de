import LarderTestSupport
import Testing

/// Wrong usage, and caches that cannot be used at all.
@Suite struct UsageTests {
    @Test(arguments: [
        ["prefetch"],
        ["prefetch", "-", "-"],
        ["prefetch", "apps.json", "--no-such-option"],
        ["prefetch", "apps.json", "--max-concurrent", "0"],
        ["prefetch", "apps.json", "--max-concurrent", "1001"],
        ["prefetch", "apps.json", "--max-per-host", "many"],
        ["prefetch", "apps.json", "--attempts", "0"],
        ["prefetch", "apps.json", "--max-object-size", "0"],
        ["prefetch", "apps.json", "--max-object-size", "5 apples"],
        ["prefetch", "apps.json", "--max-object-size", "99999999TB"],
        ["prefetch", "apps.json", "--timeout", "soon"],
        ["prefetch", "apps.json", "--timeout", "0s"],
        ["prefetch", "apps.json", "--base-url", "icons/"],
        ["prefetch", "apps.json", "--base-url", "ftp://example.com/"],
        ["prefetch", "apps.json", "--user-agent", "a\r\nb"],
        ["plan"],
        ["path"],
        ["cat", "one", "two"],
        ["status", "--format", "xml"],
        ["clean"],
    ])
    func wrongUsageIs64(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.contains("Error: "), "\(finished)")
        #expect(finished.standardOutput.isEmpty)
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["prefetch", "--help"], ["plan", "--help"],
        ["verify", "--help"], ["status", "--help"], ["list", "--help"], ["path", "--help"],
        ["cat", "--help"],
    ])
    func helpGoesToStandardOutput(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 0)
        #expect(!finished.standardOutput.isEmpty)
        #expect(finished.standardError.isEmpty)
    }

    @Test(arguments: [
        ["prefetch", "apps.json"], ["plan", "apps.json"], ["status"], ["list"], ["verify"],
        ["cat", "http://a/"],
    ])
    func aFileIsNoCache(_ arguments: [String]) async throws {
        try await withFixture { larder in
            _ = try larder.manifest(larder.origin.url("/a"))
            let file = try larder.write("precious".utf8, to: "file")
            let finished = try larder.binary.run(
                arguments + ["--cache", file], directory: larder.directory.path)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains(file), "\(finished)")
            #expect(finished.standardError.contains("Not a directory"), "\(finished)")
            #expect(finished.standardOutput.isEmpty)
            #expect(larder.origin.connectionsOpened == 0)
        }
    }

    @Test func aReportThatCannotBeWrittenStopsTheRun() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let report = larder.directory.path("nowhere/report.jsonl")
            let finished = try larder.run("prefetch", manifest, "--report", report)
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardError.contains(report), "\(finished)")
            #expect(larder.origin.connectionsOpened == 0)
        }
    }
}
