import Foundation
import LarderTestSupport
import Testing

@Suite struct ServeFilesTests {
    /// The server accepts fewer connections instead of more than it can answer.
    @Test func connectionsStayWithinTheLimitOnOpenFiles() async throws {
        try await withFixture { larder in
            let url = larder.origin.serveIcons(1)[0]
            _ = try larder.prefetch(try larder.manifest(url))
            let process = try RunningProcess(
                "/bin/sh",
                [
                    "-c", #"ulimit -n 80; exec "$0" "$@""#, larder.binary.path, "serve",
                    "--cache", larder.cache, "--listen", "127.0.0.1:0",
                ])
            guard process.waitForOutput(until: { output, _ in output.contains("\n") }),
                let port = process.standardOutputSoFar.dropLast(2).split(separator: ":").last
                    .flatMap({ UInt16($0) })
            else { throw BrokenPromise("serve does not listen: \(try process.wait())") }
            // There are more clients than descriptors. Idle connections are closed for new ones.
            var clients = try (0..<100).map { _ in try RawClient(port: port) }
            clients.append(try RawClient(port: port))
            for client in clients.suffix(3) {
                #expect(try client.get("/icon?url=\(url)").body == Icons.icon(0))
            }
            process.kill(SIGTERM)
            let finished = try process.wait()
            #expect(finished.status == 0, "\(finished)")
            #expect(finished.standardError.contains("the server accepts at most 6 "))
            #expect(!finished.standardError.contains("Too many open files"))
        }
    }

    /// NIO traps if an event loop gets no descriptor.
    @Test(arguments: [11, 14, 17, 19, 21, 23, 27, 33, 40])
    func aTooLowLimitOnOpenFilesIsReported(_ limit: Int) async throws {
        try await withFixture { larder in
            _ = try larder.prefetch(try larder.manifest(larder.origin.serveIcons(1)[0]))
            let finished = try RunningProcess(
                "/bin/sh",
                [
                    "-c", "ulimit -n \(limit); exec \"$0\" \"$@\"", "/usr/bin/timeout", "-s",
                    "KILL",
                    "60", larder.binary.path, "serve", "--cache", larder.cache, "--listen",
                    "127.0.0.1:0",
                ]
            ).wait()
            #expect(finished.status == 1, "\(finished)")
            #expect(finished.standardOutput == "")
            #expect(finished.standardError.contains("open files"), "\(finished)")
            #expect(finished.standardError.contains("(ulimit -n)"), "\(finished)")
        }
    }
}
