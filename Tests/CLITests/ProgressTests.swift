import Foundation
import LarderTestSupport
import Testing

/// Progress on standard error: a line now and then, on a terminal one line rewritten in place.
@Suite(.timeLimit(.minutes(30))) struct ProgressTests {
    @Test func elsewhereALineComesEveryFewSeconds() async throws {
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
            #expect(errors.wait(for: "0/1  0 B  0 B/s  0 failed\n"))
            gate.open()
            #expect(try process.wait().status == 0)
        }
    }

    #if os(Linux)
        private static let script = "/usr/bin/script"

        @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: script)))
        func onATerminalOneLineIsRewritten() async throws {
            try await withFixture { larder in
                let urls = larder.origin.serveIcons(8)
                for number in 0..<8 {
                    larder.origin.on("/\(number)", Icons.reply(number).delayed(0.4))
                }
                let manifest = try larder.manifest(urls: urls)
                let command = [
                    larder.binary.path, "prefetch", manifest, "--cache", larder.cache,
                    "--allow-private-network",
                ]
                let finished = try RunningProcess(
                    Self.script, ["-qec", command.joined(separator: " "), "/dev/null"]
                ).wait()
                #expect(finished.status == 0, "\(finished)")
                // The terminal makes CR LF of every line end.
                let output = finished.standardOutput.replacing("\r\n", with: "\n")
                let shown = output.components(separatedBy: "\r").dropFirst()
                #expect(shown.count > 2)
                #expect(shown.allSatisfy { $0.contains("\u{1B}[K") }, "\(output)")
                #expect(shown.contains { $0.hasPrefix("0/8  ") && $0.contains("/s  0 failed") })
                // The line is gone when the summary comes.
                #expect(shown.last?.hasPrefix("\u{1B}[K8 entries: fetched 8") == true)
                #expect(
                    output.components(separatedBy: "\u{1B}").dropFirst()
                        .allSatisfy { $0.hasPrefix("[K") })
            }
        }
    #endif
}
