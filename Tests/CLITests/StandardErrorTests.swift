import Foundation
import LarderTestSupport
import Testing

/// Runs whose standard error is closed, full or has no reader. Only the messages are lost.
@Suite struct StandardErrorTests {
    /// Runs a prefetch with 40 failures and this redirection of the shell.
    private func prefetch(_ larder: CLIFixture, _ redirection: String) throws -> Finished {
        let urls =
            larder.origin.serveIcons(3) + (0..<40).map { larder.origin.url("/missing/\($0)") }
        let manifest = try larder.manifest(urls: urls)
        return try RunningProcess(
            "/bin/sh",
            ["-c", #"exec "$0" "$@" \#(redirection)"#, larder.binary.path]
                + larder.prefetchArguments(
                    [manifest], report: larder.directory.path("report.jsonl"))
        ).wait()
    }

    #if os(Linux)
        private static let redirections = ["2>&-", "2>/dev/full", "2>/dev/null", "<&- 2>&-"]
    #else
        private static let redirections = ["2>&-", "2>/dev/null", "<&- 2>&-"]
    #endif

    @Test(arguments: redirections)
    func aRunCompletesWithoutAUsableStandardError(_ redirection: String) async throws {
        try await withFixture { larder in
            let run = try PrefetchRun(
                prefetch(larder, redirection), report: larder.directory.path("report.jsonl"))
            #expect(run.status == 2, "\(run.finished)")
            #expect(run.summary.fetched == 3 && run.summary.failed == 40)
            // No message was written to a file that reused the closed descriptor.
            #expect(try larder.verify() == 0)
            #expect(try larder.status().objects == 3)
        }
    }

    #if os(Linux)
        /// Otherwise the next file would get the descriptor, and messages would be written to it.
        @Test func closedStandardStreamsAreReopened() async throws {
            try await withFixture { larder in
                let gate = try Gate()
                larder.origin.on("/a", Icons.reply(1).heldBy(gate))
                let manifest = try larder.manifest(larder.origin.url("/a"))
                let process = try RunningProcess(
                    "/bin/sh",
                    ["-c", #"exec "$0" "$@" <&- 2>&-"#, larder.binary.path]
                        + larder.prefetchArguments(
                            [manifest], report: larder.directory.path("report.jsonl")))
                try await larder.origin.waitForRequests(1)
                for descriptor in [0, 2] {
                    let target = try FileManager.default.destinationOfSymbolicLink(
                        atPath: "/proc/\(process.pid)/fd/\(descriptor)")
                    #expect(target == "/dev/null")
                }
                gate.open()
                #expect(try process.wait().status == 0)
            }
        }
    #endif

    /// The same happens with `2> >(head -1)`.
    @Test func aRunSurvivesALostReaderOfStandardError() async throws {
        try await withFixture { larder in
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let reader = open(pipe, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
            let gate = try Gate()
            larder.origin.on("/a", Icons.reply(1).heldBy(gate))
            let manifest = try larder.manifest(larder.origin.url("/a"), "https://", "http://[")
            let report = larder.directory.path("report.jsonl")
            let process = try RunningProcess(
                "/bin/sh",
                ["-c", #"exec "$0" "$@" 2>"$PIPE""#, larder.binary.path]
                    + larder.prefetchArguments([manifest], report: report),
                environment: ProcessInfo.processInfo.environment.merging(["PIPE": pipe]) { $1 })
            try await larder.origin.waitForRequests(1)
            close(reader)
            // The interrupt causes another message. The response never comes, so that the run
            // cannot end before the interrupt.
            process.kill(SIGINT)
            let run = try PrefetchRun(process.wait(), report: report)
            gate.open()
            #expect(run.status == 130, "\(run.finished)")
            #expect(run.summary.failed == 2 && run.summary.interrupted)
        }
    }
}
