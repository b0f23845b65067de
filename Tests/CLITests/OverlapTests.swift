import Foundation
import LarderTestSupport
import Testing

/// Concurrent runs with `--exclusive`, `--no-wait` and `--wait`.
@Suite(.timeLimit(.minutes(30))) struct OverlapTests {
    private static let exclusive = ["--exclusive", "nightly"]

    /// Starts a prefetch that holds the lock `nightly` until the gate opens or it is killed.
    private func hold(_ larder: CLIFixture, _ gate: Gate) async throws -> RunningProcess {
        larder.origin.on("/a", Icons.reply(1).heldBy(gate))
        larder.origin.on("/b", Icons.reply(2))
        let process = try larder.startPrefetch(
            try larder.manifest(larder.origin.url("/a")),
            report: larder.directory.path("report.jsonl"), options: Self.exclusive)
        try await larder.origin.waitForRequests(1)
        return process
    }

    /// Starts another prefetch with that lock, and returns once it waits.
    private func startWaiting(_ larder: CLIFixture) throws -> (RunningProcess, ErrorPipe) {
        let errors = try ErrorPipe(at: larder.directory.path("errors"))
        let manifest = try larder.manifest(larder.origin.url("/b"), name: "b.json")
        let process = try errors.start(
            larder.binary,
            larder.prefetchArguments([manifest], report: larder.directory.path("b.jsonl"))
                + Self.exclusive)
        #expect(errors.wait(for: "waiting for \(larder.cache)/locks/nightly: held by larder pref"))
        return (process, errors)
    }

    @Test func aSecondRunIsRefusedOrTimesOut() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let first = try await hold(larder, gate)
            let holder = "locks/nightly: held by larder prefetch (process \(first.pid))\n"
            for command in ["verify", "evict", "reindex"] {
                let arguments = [command, "--no-wait", "--cache", larder.cache] + Self.exclusive
                let finished = try larder.binary.run(arguments)
                #expect(finished.status == 75, "\(finished)")
                #expect(finished.standardError == "larder: \(larder.cache)/\(holder)")
                #expect(finished.standardOutput.isEmpty)
            }
            let patient = try larder.run("evict", "--exclusive", "nightly", "--wait", "2s")
            #expect(patient.status == 75, "\(patient)")
            #expect(
                patient.standardError
                    == "larder: waiting for \(larder.cache)/\(holder)larder: \(larder.cache)/\(holder)"
            )
            let quiet = try larder.run("evict", "--exclusive", "nightly", "--wait", "2s", "-q")
            #expect(quiet.status == 75)
            #expect(quiet.standardError == "larder: \(larder.cache)/\(holder)")
            // Runs with another lock, or without one, do not wait.
            #expect(try larder.run("verify", "--exclusive", "weekly", "--no-wait").status == 0)
            #expect(try larder.run("verify", "--no-wait").status == 0)
            gate.open()
            #expect(try first.wait().status == 0)
        }
    }

    @Test func aWaitingRunStartsWhenTheFirstEnds() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let first = try await hold(larder, gate)
            let (second, errors) = try startWaiting(larder)
            defer { withExtendedLifetime(errors) {} }
            #expect(larder.origin.count() == 1)
            gate.open()
            #expect(try first.wait().status == 0)
            #expect(try second.wait().status == 0)
            #expect(larder.origin.requests.map(\.path) == ["/a", "/b"])
            #expect(try larder.verify() == 0)
        }
    }

    @Test func aKilledRunReleasesItsLock() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let first = try await hold(larder, gate)
            let (second, errors) = try startWaiting(larder)
            defer { withExtendedLifetime(errors) {} }
            first.kill(SIGKILL)
            #expect(try second.wait().status == 0)
            #expect(try first.wait().status == -SIGKILL)
            #expect(try larder.run("verify", "--no-wait", "--exclusive", "nightly").status == 0)
        }
    }

    @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
    func anInterruptEndsAWaitingRunAtOnce(_ signal: Int32, _ status: Int32) async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let first = try await hold(larder, gate)
            let (second, errors) = try startWaiting(larder)
            defer { withExtendedLifetime(errors) {} }
            second.kill(signal)
            let finished = try second.wait()
            #expect(finished.status == status, "\(finished)")
            #expect(finished.standardOutput.isEmpty)
            #expect(larder.origin.count() == 1)
            gate.open()
            #expect(try first.wait().status == 0)
        }
    }

    /// A rebuild locks the root directory of the cache exclusively.
    @Test func anIndexRebuildLocksOutOtherCommands() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(2))
            #expect(try larder.prefetch(manifest).status == 0)
            let root = open(larder.cache, O_RDONLY | O_CLOEXEC)
            #expect(flock(root, LOCK_EX) == 0)
            for arguments in [
                ["prefetch", manifest], ["verify"], ["evict"], ["reindex"], ["pin", manifest],
                ["unpin", "--all"],
            ] {
                let finished = try larder.binary.run(
                    arguments + ["--no-wait", "--cache", larder.cache])
                #expect(finished.status == 75, "\(arguments): \(finished)")
            }
            // `--wait 0` does not wait.
            let immediate = try larder.run("verify", "--wait", "0")
            #expect(immediate.status == 75, "\(immediate)")
            // Commands that only read never wait.
            for arguments in [["status"], ["list"], ["pin"], ["plan", manifest]] {
                let finished = try larder.binary.run(arguments + ["--cache", larder.cache])
                #expect(finished.status == 75, "\(arguments): \(finished)")
            }
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(larder.binary, ["verify", "--cache", larder.cache])
            let message = "waiting for \(larder.cache): another process is rebuilding the index"
            #expect(errors.wait(for: message))
            close(root)
            #expect(try process.wait().status == 0)
            withExtendedLifetime(errors) {}
        }
    }

    @Test func reindexWaitsForARunningPrefetch() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            let first = try await hold(larder, gate)
            let errors = try ErrorPipe(at: larder.directory.path("errors"))
            let process = try errors.start(larder.binary, ["reindex", "--cache", larder.cache])
            let message = "waiting for \(larder.cache): another process is using the cache"
            #expect(errors.wait(for: message))
            gate.open()
            #expect(try first.wait().status == 0)
            #expect(try process.wait().status == 0)
            #expect(try larder.status().objects == 1)
            withExtendedLifetime(errors) {}
        }
    }

    @Test func lockOptionsDoNotCreateAMissingCache() async throws {
        try await withFixture { larder in
            for arguments in [["verify"], ["evict"], ["unpin", "--all"], ["reindex"]] {
                let finished = try larder.binary.run(
                    arguments + ["--no-wait", "--cache", larder.cache] + Self.exclusive)
                #expect(finished.status == 66, "\(arguments): \(finished)")
                #expect(!larder.hasCache)
            }
        }
    }

    @Test(
        arguments: [
            ["--exclusive", "a/b"], ["--exclusive", ".."], ["--exclusive", ""],
            ["--no-wait", "--wait", "1s"], ["--wait", "-1"], ["--wait", "soon"],
        ])
    func invalidLockOptionsAreRefused(_ options: [String]) throws {
        #expect(
            try LarderBinary().run(["evict", "--cache", "/nonexistent"] + options).status == 64)
    }
}
