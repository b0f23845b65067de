import Foundation
import LarderTestSupport
import Testing

/// Progress without a terminal: a line every few seconds, or on a signal.
@Suite(.timeLimit(.minutes(30))) struct ProgressTests {
    @Test func aProgressLineIsPrintedEveryFewSecondsWithoutATerminal() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.on("/0", Icons.reply(0).heldBy(gate))
            let manifest = try larder.manifest(larder.origin.url("/0"))
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(
                larder.binary,
                larder.prefetchArguments(
                    [manifest], report: larder.directory.path("report.jsonl")))
            try await larder.origin.waitForRequests(1)
            #expect(errors.wait(for: "0/1  1 in flight  0 B  0 B/s  0 failed\n"))
            gate.open()
            #expect(try process.wait().status == 0)
        }
    }

    @Test(arguments: [[], ["--quiet"]])
    func aSignalPrintsAProgressLineAtOnce(_ options: [String]) async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.on("/0", Icons.reply(0).heldBy(gate))
            let manifest = try larder.manifest(larder.origin.url("/0"))
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(
                larder.binary,
                larder.prefetchArguments(
                    [manifest], report: larder.directory.path("report.jsonl")) + options)
            try await larder.origin.waitForRequests(1)
            process.kill(SIGUSR1)
            #expect(errors.wait(for: "0/1  "))
            gate.open()
            #expect(try process.wait().status == 0)
        }
    }

    /// The command waits for another process's lock when the signal arrives.
    @Test func aSignalBeforeAnyProgressDoesNotEndTheRun() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(1))
            #expect(try larder.prefetch(manifest).status == 0)
            let root = open(larder.cache, O_RDONLY | O_CLOEXEC)
            #expect(flock(root, LOCK_EX) == 0)
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(
                larder.binary, ["verify", "--cache", larder.cache, "--json"])
            #expect(errors.wait(for: "waiting for \(larder.cache)"))
            process.kill(SIGUSR1)
            #expect(errors.wait(for: "larder: no progress to show yet\n"))
            close(root)
            #expect(try process.wait().status == 0)
        }
    }
}
