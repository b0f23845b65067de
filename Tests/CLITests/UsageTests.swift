import Foundation
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
        ["prefetch", "apps.json", "--revalidate", "sometimes"],
        ["prefetch", "apps.json", "--failure-ttl", "soon"],
        ["plan", "apps.json", "--max-failures", "1"],
        ["plan"],
        ["verify", "--sample", "0/10"],
        ["verify", "--sample", "11/10"],
        ["verify", "--sample", "0%"],
        ["verify", "--sample", "101%"],
        ["verify", "--sample", "a tenth"],
        ["verify", "--sample", "5%", "--max-duration", "10m"],
        ["verify", "--sample", "3/10", "--seed", "1"],
        ["verify", "--manifest", "apps.json", "--sample", "5%"],
        ["verify", "--manifest", "apps.json", "--max-duration", "10m"],
        ["verify", "apps.json"],
        ["path"],
        ["cat", "one", "two"],
        ["status", "--format", "xml"],
        ["evict", "--max-size", "big"],
        ["evict", "--max-count", "-1"],
        ["evict", "--by", "size"],
        ["evict", "--keep", "-", "--only", "-"],
        ["evict", "--keep", "https://example.com/apps.json"],
        ["pin", "-", "-"],
        ["unpin"],
        ["unpin", "a.json", "--all"],
        ["clean"],
    ])
    func wrongUsageIs64(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 64, "\(finished)")
        #expect(finished.standardError.contains("Error: "), "\(finished)")
        #expect(finished.standardOutput.isEmpty)
    }

    @Test(arguments: [
        ("icons/", "it has no scheme"), ("ftp://example.com/", "it has the scheme 'ftp'"),
        ("http://", "No host part"), ("http://me:secret@[::1/", ""),
    ])
    func aBadBaseURLIsExplained(_ url: String, _ reason: String) throws {
        let finished = try LarderBinary().run(["prefetch", "apps.json", "--base-url", url])
        #expect(finished.status == 64)
        let complaint = finished.standardError.prefix { $0 != "\n" }
        #expect(complaint.contains("absolute http or https URL: "), "\(finished)")
        #expect(complaint.localizedCaseInsensitiveContains(reason) || reason.isEmpty, "\(finished)")
        #expect(!complaint.contains("(") && !complaint.contains("secret"), "\(finished)")
    }

    @Test(arguments: [
        ["--help"], ["--version"], ["prefetch", "--help"], ["plan", "--help"],
        ["verify", "--help"], ["status", "--help"], ["list", "--help"], ["path", "--help"],
        ["cat", "--help"], ["evict", "--help"], ["pin", "--help"], ["unpin", "--help"],
    ])
    func helpGoesToStandardOutput(_ arguments: [String]) throws {
        let finished = try LarderBinary().run(arguments)
        #expect(finished.status == 0)
        #expect(!finished.standardOutput.isEmpty)
        #expect(finished.standardError.isEmpty)
    }

    @Test(arguments: [
        ["prefetch", "apps.json"], ["plan", "apps.json"], ["status"], ["list"], ["verify"],
        ["evict"],
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
