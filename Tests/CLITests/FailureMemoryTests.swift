import Foundation
import LarderTestSupport
import Testing

/// Remembered failures, which prefetches skip or retry, and the allowance for failures.
@Suite struct FailureMemoryTests {
    private func plan(_ larder: CLIFixture, _ manifest: String, _ options: String...) throws
        -> [[String: JSONValue]]
    {
        let finished = try larder.run(arguments: ["plan", manifest, "--json"] + options)
        return try JSONValue.lines(finished.standardOutputBytes)
    }

    @Test func planAndStatusShowRememberedFailures() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", .status(403))
            let manifest = try larder.manifest(larder.origin.url("/a"))
            #expect(try plan(larder, manifest)[0]["last_failure"] == .null)
            for count in 1...2 {
                #expect(try larder.prefetch(manifest).status == 2)
                let failure = try #require(try plan(larder, manifest)[0]["last_failure"]?.object)
                #expect(failure["code"] == .string("http-403"))
                #expect(failure["status"] == .integer(403))
                #expect(failure["count"] == .integer(count))
            }
            let text = try larder.run("plan", manifest).standardOutput
            #expect(text.hasPrefix("missing (failed 2 times, last http-403 "), "\(text)")
            #expect(try larder.run("status").standardOutput.contains("failures   1 remembered"))
            larder.origin.on("/a", Icons.reply(1))
            #expect(try larder.prefetch(manifest).status == 0)
            #expect(try !larder.run("status").standardOutput.contains("failures"))
        }
    }

    @Test func aRemembered404IsRetriedOnlyWithAnOption() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/gone"))
            #expect(try larder.prefetch(manifest).status == 2)
            let again = try larder.prefetch(manifest)
            #expect(again.status == 2)
            #expect(larder.origin.count() == 1)
            let line = try again.line(1)
            #expect(line.error?.code == "http-404" && line.attempts == 0)
            #expect(line.error?.message.contains("--retry-gone") == true)
            #expect(again.finished.standardError.contains("--retry-gone"), "\(again.finished)")

            let planned = try plan(larder, manifest)
            #expect(planned[0]["status"] == .string("failed"))
            #expect(planned[0]["error"]?.object?["code"] == .string("http-404"))
            #expect(planned[0]["last_failure"]?.object?["count"] == .integer(1))
            #expect(planned[1]["remembered"] == .integer(1))
            #expect(planned[1]["failed"] == .integer(1))
            #expect(try larder.run("plan", manifest).status == 2)

            for (count, options) in [
                ["--retry-gone"], ["--failure-ttl", "0"], ["--retry-failed"], ["--force"],
            ].enumerated() {
                let planned = try larder.run(arguments: ["plan", manifest, "-q"] + options)
                #expect(planned.status == 0 && planned.standardOutput.contains("missing 1"))
                #expect(try larder.prefetch(manifest, options: options).line(1).attempts == 1)
                #expect(larder.origin.count() == count + 2)
            }
        }
    }

    @Test func retryFailedFetchesOnlyIconsThatFailedBefore() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            larder.origin.on("/denied", .status(403))
            let denied = larder.origin.url("/denied")
            _ = try larder.prefetch(try larder.manifest(urls[0], denied))
            larder.origin.on("/denied", Icons.reply(9))
            larder.origin.resetLog()
            let manifest = try larder.manifest(urls[0], denied, urls[1])
            let run = try larder.prefetch(manifest, options: ["--retry-failed"])
            #expect(run.status == 0)
            #expect(run.outcomes == ["cached", "fetched", "skipped"])
            #expect(try run.line(3).error?.code == "not-failed-before")
            #expect(larder.origin.requests.map(\.path) == ["/denied"])
        }
    }

    // MARK: --max-failures

    /// The manifest has 40 entries.
    @Test(arguments: [
        ("0", 0, 0), ("0", 1, 2), ("1", 1, 0), ("1", 2, 2), ("40", 40, 0), ("2.5%", 1, 0),
        ("2.5%", 2, 2), ("2.49%", 1, 2), ("5%", 2, 0), ("100%", 40, 0), ("0%", 1, 2), ("0%", 0, 0),
        ("99.9%", 40, 2),
    ])
    func failuresWithinTheAllowanceAreAccepted(
        _ allowance: String, _ failed: Int, _ status: Int32
    ) async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            let manifest = try larder.manifest(
                (0..<40).map { ["icon": $0 < failed ? "https://:\($0)" : url] })
            let run = try larder.prefetch(manifest, options: ["--max-failures", allowance])
            #expect(run.status == status)
            #expect(run.summary.failed == failed && run.summary.icons == 40)
        }
    }

    @Test(
        arguments: share(of: [
            "-1", "+1", "1.5", "", "%", ".5%", "5.%", "-1%", "1e1%", "101%", "1,5%", "5 %", "five",
            "1%%", "99999999999999999999",
        ]))
    func anInvalidFailureAllowanceIsAUsageError(_ allowance: String) throws {
        let finished = try LarderBinary().run([
            "prefetch", "apps.json", "--max-failures=\(allowance)",
        ])
        #expect(finished.status == 64, "\(finished)")
    }

    @Test func theFailureAllowanceDoesNotCoverCacheErrors() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/a"))
            _ = try larder.prefetch(try larder.manifest([], name: "none.json"))
            larder.origin.on("/a", Icons.reply(1))
            let objects = "\(larder.cache)/objects"
            try? FileManager.default.removeItem(atPath: objects)
            try Data().write(to: URL(fileURLWithPath: objects))
            let arguments = larder.prefetchArguments(
                [manifest], report: larder.directory.path("report.jsonl"))
            let finished = try larder.binary.run(arguments + ["--max-failures", "100%"])
            #expect(finished.status == 1, "\(finished)")
        }
    }
}
