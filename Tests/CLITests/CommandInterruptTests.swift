import Foundation
import LarderTestSupport
import Testing

/// Interrupts of commands other than `prefetch`, which exit soon and report their result.
@Suite(.timeLimit(.minutes(30))) struct CommandInterruptTests {
    private func report(_ finished: Finished) throws -> [String: JSONValue] {
        try #require(
            try JSONValue.lines(finished.standardOutputBytes).first, "\(finished)")
    }

    #if os(Linux)
        @Test(arguments: [(SIGINT, 130), (SIGTERM, 143)] as [(Int32, Int32)])
        func anInterruptStopsVerifyWithinALargeObject(
            _ signal: Int32, _ status: Int32
        ) async throws {
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

        @Test func anInterruptedQuietVerifyPrintsOneLine() async throws {
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

        /// The output pipe is full until the signal arrives, so the command cannot finish before.
        @Test func anInterruptedEvictReportsItsProgress() async throws {
            try await withFixture { larder in
                let manifest = try larder.manifest(urls: larder.origin.serveIcons(150))
                #expect(try larder.prefetch(manifest).status == 0)
                let files = ["OUTPUT", "ERRORS"].map { ($0, larder.directory.path($0)) }
                let errors = try ErrorPipe(at: files[1].1)
                #expect(mkfifo(files[0].1, 0o600) == 0)
                let output = open(files[0].1, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
                let stream = FileHandle(fileDescriptor: output, closeOnDealloc: true)
                // F_SETPIPE_SZ, which Glibc declares only for GNU C. A few dozen lines fill 4 KiB.
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
                #expect(text.contains("\ninterrupted: the remaining objects are kept"), "\(text)")
                #expect(try larder.status().objects == 150)
            }
        }

        @Test func anInterruptedReindexKeepsTheOldIndex() async throws {
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

    @Test func anInterruptStopsTheDownloadsOfARepair() async throws {
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
            gate.open()
            #expect(try larder.prefetch(manifest).summary.fetched == 2)
            #expect(try larder.verify() == 0)
        }
    }

    /// The command has not started any work that it would have to finish.
    @Test(arguments: [["evict", "--only"], ["verify", "--manifest"]])
    func anInterruptEndsTheReadingOfAManifestAtOnce(_ arguments: [String]) async throws {
        try await withFixture { larder in
            let urls = larder.origin.serveIcons(2)
            #expect(try larder.prefetch(try larder.manifest(urls: urls)).status == 0)
            let pipe = larder.directory.path("pipe")
            #expect(mkfifo(pipe, 0o600) == 0)
            let process = try larder.binary.start(arguments + [pipe, "--cache", larder.cache])
            // Returns when larder opens the pipe for reading.
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
