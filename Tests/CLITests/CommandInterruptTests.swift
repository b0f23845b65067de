import Foundation
import LarderTestSupport
import Testing

/// Interrupts of the commands that do not only fetch: they end soon, and say how far they came.
@Suite(.timeLimit(.minutes(30))) struct CommandInterruptTests {
    private func report(_ finished: Finished) throws -> [String: JSONValue] {
        try #require(
            try JSONValue.lines(finished.standardOutputBytes).first, "\(finished)")
    }

    #if os(Linux)
        @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
        func verifyGivesUpALargeObject(_ signal: Int32, _ status: Int32) async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(3)
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                let path = try larder.objectPath(urls[0])
                try makeSlowToRead(path)
                let access = try FileAccess(of: path)
                let process = try larder.binary.start([
                    "verify", "--json", "--cache", larder.cache,
                ])
                access.wait()
                process.kill(signal)
                let finished = try process.wait()
                #expect(finished.status == status, "\(finished)")
                let report = try report(finished)
                #expect(report["interrupted"] == .boolean(true))
                #expect(report["complete"] == .boolean(false))
                #expect(report["corrupt"] == .integer(0))
            }
        }

        @Test func verifyIsQuietAboutIt() async throws {
            try await withFixture { larder in
                let url = larder.origin.serveIcons(1)[0]
                #expect(try larder.prefetch(try larder.manifest(url)).status == 0)
                let path = try larder.objectPath(url)
                try makeSlowToRead(path)
                let access = try FileAccess(of: path)
                let process = try larder.binary.start(["verify", "-q", "--cache", larder.cache])
                access.wait()
                process.kill(SIGINT)
                let finished = try process.wait()
                #expect(finished.status == 130)
                #expect(finished.standardError == "larder: interrupted after 0 objects\n")
                #expect(finished.standardOutput.isEmpty)
            }
        }

        /// Nobody reads what it prints until the signal has come: it cannot come to its end before.
        @Test func evictSaysHowFarItCame() async throws {
            try await withFixture { larder in
                let manifest = try larder.manifest(urls: larder.origin.serveIcons(150))
                #expect(try larder.prefetch(manifest).status == 0)
                let files = ["OUTPUT", "ERRORS"].map { ($0, larder.directory.path($0)) }
                let errors = try ErrorPipe(at: files[1].1)
                #expect(mkfifo(files[0].1, 0o600) == 0)
                let output = open(files[0].1, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                let stream = FileHandle(fileDescriptor: output, closeOnDealloc: true)
                // F_SETPIPE_SZ, which Glibc declares for GNU C alone: a few dozen lines fill it.
                #expect(fcntl(output, 1031, 4096) == 4096)
                let process = try RunningProcess(
                    "/bin/sh",
                    [
                        "-c", #"exec "$0" "$@" >"$OUTPUT" 2>"$ERRORS""#, larder.binary.path,
                        "evict", "--dry-run", "--max-count", "0", "--cache", larder.cache,
                    ],
                    environment: ProcessInfo.processInfo.environment.merging(files) { $1 })
                var first = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
                while poll(&first, 1, 60_000) < 0, errno == EINTR {}
                process.kill(SIGINT)
                #expect(errors.wait(for: "in progress; interrupt again to exit at once"))
                _ = fcntl(output, F_SETFL, 0)
                let text = String(decoding: try stream.readToEnd() ?? Data(), as: UTF8.self)
                #expect(try process.wait().status == 130)
                #expect(text.contains("\nwould evict 150 objects"), "\(text)")
                #expect(text.contains("\ninterrupted: evicted objects are gone"), "\(text)")
                #expect(try larder.status().objects == 150)
            }
        }

        @Test func reindexLeavesTheOldIndex() async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(3)
                #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
                let path = try larder.objectPath(urls[0])
                try makeSlowToRead(path)
                let access = try FileAccess(of: path)
                let process = try larder.binary.start(["reindex", "--cache", larder.cache])
                access.wait()
                process.kill(SIGTERM)
                let finished = try process.wait()
                #expect(finished.status == 143, "\(finished)")
                #expect(finished.standardOutput == "interrupted: the index was not changed\n")
                #expect(try larder.status().resources == 3)
                #expect(try larder.temporaries().isEmpty)
            }
        }
    #endif

    @Test func aRepairEndsFetching() async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(4)
            let manifest = try larder.manifest(urls: urls)
            #expect(try larder.prefetch(manifest).status == 0)
            for url in urls[..<2] { try larder.overwrite(try larder.objectPath(url), with: [1]) }
            let gate = try Gate()
            for number in 0..<2 {
                larder.origin.on("/\(number)", Icons.reply(number).heldBy(gate))
            }
            larder.origin.resetLog()
            let process = try larder.binary.start([
                "verify", "--repair", "--json", "--allow-private-network", "--cache", larder.cache,
            ])
            try await larder.origin.waitForRequests(2)
            process.kill(SIGINT)
            let finished = try process.wait()
            #expect(finished.status == 130, "\(finished)")
            let report = try report(finished)
            #expect(report["interrupted"] == .boolean(true))
            #expect(report["complete"] == .boolean(true))
            let findings = try #require(report["findings"]?.array).compactMap(\.object)
            #expect(findings.map { $0["repair"] } == [.string("lost"), .string("lost")])
            let refetches = try #require(report["refetches"]?.array).compactMap(\.object)
            #expect(
                refetches.map { $0["error"]?.object?["code"] }
                    == [.string("cancelled"), .string("cancelled")])
            // The next prefetch asks for them.
            gate.open()
            #expect(try larder.prefetch(manifest).summary.fetched == 2)
            #expect(try larder.verify() == 0)
        }
    }

    /// While a manifest is read nothing is begun: no reason to stay.
    @Test(arguments: [["evict", "--only"], ["verify", "--manifest"]])
    func nothingIsBegunWhileManifestsAreRead(_ arguments: [String]) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let process = try larder.binary.start(arguments + [pipe, "--cache", larder.cache])
            // Returns when the other end is opened for reading.
            let writer = open(pipe, O_WRONLY | O_CLOEXEC)
            process.kill(SIGINT)
            let finished = try process.wait()
            close(writer)
            #expect(finished.status == 130, "\(finished)")
            #expect(finished.standardError == "larder: interrupted\n")
            #expect(try larder.status().objects == 2)
        }
    }
}
