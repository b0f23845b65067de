import Foundation
import LarderTestSupport
import Testing

/// Interrupts of `prefetch`. The first one finishes transfers in flight, the second exits at once.
@Suite(.timeLimit(.minutes(30))) struct InterruptTests {
    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143), (SIGHUP, 143)] as [(Int32, Int32)])
    func theFirstInterruptFinishesTransfersInFlight(_ signal: Int32, _ status: Int32) async throws {
        try await withFixture { larder in
            let origin = larder.origin
            let gate = try Gate()
            let urls = (0..<300).map { origin.url("/\($0)") }
            // Six requests are in flight at the signal. The remaining requests would take several
            // seconds.
            origin.onAny { request in
                let number = Int(request.path.dropFirst()) ?? 0
                return number < 6
                    ? Icons.reply(number).heldBy(gate) : Icons.reply(number).delayed(0.1)
            }
            let manifest = try larder.manifest(urls: urls)
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(manifest, report: report)
            try await origin.waitForRequests(6)
            process.kill(signal)
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == status, "\(run.finished)")
            #expect(run.summary.interrupted)
            #expect(run.summary.error == nil)
            #expect(run.finished.standardError.contains("transfers in flight have 2 s to finish"))
            #expect(origin.count() < 100, "the prefetch did not stop")
            #expect(run.summary.fetched >= 6)
            #expect(run.summary.failed == 0, "\(run.finished)")
            #expect(run.summary.unfinished == 300 - run.summary.fetched)
            let stored = Set(run.lines.filter { $0.outcome == "fetched" }.compactMap(\.url))
            #expect(stored.isSuperset(of: urls.prefix(6)))
            #expect(try larder.verify() == 0)
            #expect(try larder.temporaries().isEmpty)

            origin.resetLog()
            let next = try larder.prefetch(manifest)
            #expect(next.status == 0)
            #expect(next.summary.cached == stored.count)
            #expect(next.summary.fetched == 300 - stored.count)
            #expect(stored.isDisjoint(with: origin.requests.map { origin.url($0.path) }))
        }
    }

    /// The rest of the manifest does not arrive, and its beginning has no complete entry.
    @Test(arguments: ["", "<plist><array><!-- ", "<plist><array><dict><key>", "[ ", "[\""])
    func anInterruptEndsTheReadingOfAManifest(beginning: String) async throws {
        try await withFixture { larder in
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(pipe, report: report)
            // Returns when larder opens the pipe for reading.
            let descriptor = try await onThreadOfItsOwn { open(pipe, O_WRONLY | O_CLOEXEC) }
            defer { close(descriptor) }
            #expect(write(descriptor, beginning, beginning.utf8.count) == beginning.utf8.count)
            process.kill(SIGINT)
            let finished = try await onThreadOfItsOwn { try process.wait(timeout: 60) }
            #expect(finished.status == 130, "\(finished)")
            #expect(try larder.verify() == 0)
        }
    }

    /// nohup(1) ignores SIGHUP so that the command outlives the terminal.
    @Test func anIgnoredHangupSignalStaysIgnored() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.on("/a", Icons.reply(1).heldBy(gate))
            let report = larder.directory.path("report.jsonl")
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let process = try RunningProcess(
                "/bin/sh",
                ["-c", #"trap '' HUP; exec "$0" "$@""#, larder.binary.path]
                    + larder.prefetchArguments([manifest], report: report))
            try await larder.origin.waitForRequests(1)
            process.kill(SIGHUP)
            gate.open()
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 0, "\(run.finished)")
            #expect(run.outcomes == ["fetched"])
        }
    }

    /// Large drawings are validated one at a time, for several seconds in total. Bodies that waited
    /// for validation once kept an interrupted prefetch running for minutes.
    @Test(.isLong) func bodiesThatWaitForValidationAreUnfinished() async throws {
        try await withFixture { larder in
            let drawing = Reply.ok("<svg>" + String(repeating: "<a/>", count: 3_900_000) + "</svg>")
            larder.origin.onAny { _ in drawing }
            let urls = (0..<16).map { larder.origin.url("/\($0)") }
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: urls), report: report, options: ["--max-per-host", "16"])
            try await larder.origin.waitForRequests(16)
            process.kill(SIGINT)
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 130, "\(run.finished)")
            #expect(run.summary.unfinished > 0 && run.summary.failed == 0, "\(run.finished)")
            #expect(try larder.temporaries().isEmpty)
        }
    }

    @Test func transfersThatDoNotFinishInTimeAreUnfinished() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let urls = (0..<20).map { larder.origin.url("/\($0)") }
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(urls: urls), report: report)
            try await larder.origin.waitForRequests(6)
            process.kill(SIGINT)
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 130)
            #expect(run.summary.unfinished == 20)
            #expect(larder.origin.count() == 6)
            #expect(try larder.verify() == 0)
        }
    }

    @Test func anInterruptDoesNotWaitForRetries() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", .status(503))
            let report = larder.directory.path("report.jsonl")
            let process = try larder.startPrefetch(
                try larder.manifest(larder.origin.url("/a")), report: report,
                options: ["--attempts", "100"])
            try await larder.origin.waitForRequests(4)
            process.kill(SIGINT)
            let run = try PrefetchRun(process.wait(), report: report)
            #expect(run.status == 130)
            #expect(run.outcomes == ["unfinished"])
        }
    }

    @Test func theSecondInterruptExitsAtOnce() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let urls = larder.origin.serveIcons(3)
            _ = try larder.prefetch(try larder.manifest(urls: urls))
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let waiting = try larder.manifest(urls: (10..<30).map { larder.origin.url("/\($0)") })
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(
                larder.binary,
                larder.prefetchArguments(
                    [waiting], report: larder.directory.path("report.jsonl")))
            try await larder.origin.waitForRequests(3 + 6)
            process.kill(SIGINT)
            #expect(errors.wait(for: "interrupt again to exit at once"))
            process.kill(SIGINT)
            let finished = try process.wait()
            #expect(finished.status == 130)
            // It exited without a report.
            #expect(finished.standardOutput.isEmpty, "\(finished)")
            #expect(try larder.verify() == 0)
            #expect(try larder.status().objects == 3)
        }
    }
}
