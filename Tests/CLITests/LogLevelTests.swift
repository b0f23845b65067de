import LarderTestSupport
import Testing

/// The option `--log-level`, which makes commands log to standard error.
@Suite struct LogLevelTests {
    @Test func logMessagesAreLinesOnStandardError() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            let run = try larder.run(
                "prefetch", manifest, "--allow-private-network", "--quiet", "--log-level", "info")
            #expect(run.status == 0 && run.standardOutput.isEmpty, "\(run)")
            let lines = run.standardError.split(separator: "\n")
            #expect(lines.count >= 2, "\(run)")
            for line in lines {
                let form = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ [a-z]+ larder[a-z.]*: .*/
                #expect(line.wholeMatch(of: form) != nil, "\(line)")
            }
            #expect(lines.first?.contains(" info larder: larder prefetch begins cache=") == true)
            #expect(lines.last?.hasSuffix(" info larder: ended status=0") == true)
        }
    }

    @Test func messagesBelowTheLogLevelAreNotWritten() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            let run = try larder.run(
                "prefetch", manifest, "--allow-private-network", "--quiet", "--log-level", "error")
            #expect(run.status == 0 && run.standardError.isEmpty, "\(run)")
        }
    }

    @Test func upkeepIsLogged() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
            let copy = larder.directory.path("copy")
            for words in [["pin", url], ["unpin", url], ["snapshot", copy], ["reindex"]] {
                let run = try larder.run(arguments: words + ["--log-level", "info"])
                #expect(run.status == 0, "\(run)")
                #expect(
                    run.standardError.contains(" info larder: larder \(words[0]) begins"),
                    "\(run)")
            }
        }
    }

    @Test func logMessagesHaveNoTerminalEscapes() async throws {
        try await withFixture { larder in
            let cache = larder.directory.path("c\u{1B}[2J")
            let run = try larder.binary.run(["evict", "--cache", cache, "--log-level", "trace"])
            #expect(run.status == 66 && !run.standardError.contains("\u{1B}"), "\(run)")
        }
    }
}
