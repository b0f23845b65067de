import Foundation
import LarderTestSupport
import Testing

@Suite(.enabled(if: TerminalScreen.tmux != nil), .timeLimit(.minutes(30))) struct TerminalTests {
    private func prefetch(
        _ larder: CLIFixture, _ manifest: String, _ options: String...
    ) -> [String] {
        [larder.binary.path, "prefetch", manifest, "--cache", larder.cache]
            + ["--allow-private-network", "--stall-timeout", "1h", "--timeout", "1h"] + options
    }

    /// Joins lines, because messages are wrapped between words.
    private func words(_ lines: some Sequence<String>) -> String {
        lines.joined(separator: " ").split(separator: /\s+/).joined(separator: " ")
    }

    @Test(arguments: [25, 40, 80])
    func tenThousandIconsAndFiveHundredFailuresTakeFewLines(_ columns: Int) async throws {
        try await withFixture { larder in
            larder.origin.onAny { request in
                request.path.hasPrefix("/gone") ? .status(404) : Icons.reply(1)
            }
            let base = larder.origin.url("/")
            let manifest = try larder.manifest(
                urls: (0..<10_000).map { "\(base)\($0)" } + (0..<500).map { "\(base)gone/\($0)" })
            let screen = try TerminalScreen(
                prefetch(larder, manifest), columns: columns, in: larder.directory)
            let (status, lines) = try screen.finish()
            #expect(status == 2)
            let text = words(lines)
            #expect(text.ranges(of: "http-404: the server answered with status 404").count == 5)
            let host = base.dropFirst("http://".count).dropLast()
            #expect(text.contains(" larder: http-404: 495 more at \(host) "), "\(lines)")
            #expect(lines.contains { $0.hasPrefix("10500 entries: fetched 10000") }, "\(lines)")
            #expect(lines.contains("  failed, http-404: 500"), "\(lines)")
            #expect(
                text.hasSuffix(
                    "larder: to retry the failed icons: larder prefetch \(manifest)"
                        + " --retry-failed --cache \(larder.cache) --allow-private-network"
                        + " --stall-timeout 1h --timeout 1h; to list all icons:"
                        + " --report FILE"), "\(lines)")
            // Five failures, the count of the rest, and the suggested command.
            #expect(text.ranges(of: "larder: ").count == 7, "\(lines)")
        }
    }

    @Test func verboseShowsEveryFailure() async throws {
        try await withFixture { larder in
            let base = larder.origin.url("/gone/")
            let manifest = try larder.manifest(urls: (0..<20).map { "\(base)\($0)" })
            let screen = try TerminalScreen(
                prefetch(larder, manifest, "--verbose", "--report", larder.directory.path("all")),
                columns: 80, in: larder.directory)
            let (status, lines) = try screen.finish()
            #expect(status == 2)
            #expect(words(lines).ranges(of: "http-404: the server answered").count == 20)
            #expect(!words(lines).contains(" more at "))
        }
    }

    /// A command with a masked name or a pipe would read another manifest.
    @Test(arguments: ["apps?token=x.json", "-", "/dev/stdin"])
    func theRetrySuggestionOmitsManifestsThatCannotBeReadAgain(_ name: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/gone"))
            let copy = larder.directory.path("apps?token=x.json")
            try FileManager.default.copyItem(atPath: manifest, toPath: copy)
            let screen = try TerminalScreen(
                ["sh", "-c", #""$0" "$@" <"\#(copy)""#]
                    + prefetch(larder, name.contains("?") ? copy : name),
                columns: 80, in: larder.directory)
            let (status, lines) = try screen.finish()
            #expect(status == 2)
            #expect(
                words(lines).hasSuffix(
                    "larder: to retry the failed icons: a prefetch of the same manifest"
                        + " with --retry-failed and the same options; to list all icons:"
                        + " --report FILE"), "\(lines)")
        }
    }

    /// The shell's prompt is in the place of the progress line.
    @Test func aBackgroundProcessShowsNoProgressLine() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(larder.origin.url("/gone"))
            let screen = try TerminalScreen(
                ["bash", "-mc", #""$0" "$@" & wait $!"#] + prefetch(larder, manifest),
                columns: 80, in: larder.directory)
            let (status, lines) = try screen.finish()
            #expect(status == 2)
            #expect(lines.contains { $0.hasPrefix("1 entry: ") }, "\(lines)")
            #expect(!screen.hasWritten("0/1") && !screen.hasWritten("\u{1B}["))
        }
    }

    @Test func theProgressLineAppearsInTheForeground() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let screen = try TerminalScreen(
                ["bash", "-mc", #"echo; "$0" "$@" & read -r; fg >/dev/null"#]
                    + prefetch(larder, manifest), columns: 80, in: larder.directory)
            try await larder.origin.waitForRequests(1)
            try screen.type("Enter")
            try screen.wait(for: "\r0/1  ")
            gate.open()
            let (status, lines) = try screen.finish()
            #expect(status == 0)
            #expect(!lines.contains { $0.hasPrefix("0/1") }, "\(lines)")
        }
    }

    @Test func theProgressLineFollowsTheTerminalsWidth() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let manifest = try larder.manifest(urls: (0..<6).map { larder.origin.url("/\($0)") })
            let screen = try TerminalScreen(
                prefetch(larder, manifest), columns: 80, in: larder.directory)
            let whole = "0/6  6 in flight  0 B  0 B/s  0 failed"
            try screen.wait(for: "\r\(whole)\u{1B}[K\r")
            #expect(try screen.lines() == [whole])
            for (columns, line) in [
                (38, "0/6  6 in flight  0 B  0 B/s"), (25, "0/6  0 B  0 B/s"), (12, "0/6  0 B/s"),
                (5, "0/6"), (3, "0…"), (40, whole),
            ] {
                try screen.resize(columns: columns)
                // tmux reports at most one size in a quarter of a second. A line for the previous
                // size would be broken, so the test waits for further lines.
                for _ in 0..<4 { try screen.wait(for: "\r\(line)\u{1B}[K\r") }
                #expect(try screen.lines(withHistory: false) == [line])
            }
            gate.open()
            let (status, lines) = try screen.finish(withHistory: false)
            #expect(status == 0)
            #expect(lines.first?.hasPrefix("6 entries: fetched 6") == true, "\(lines)")
            #expect(lines.count == 2)
        }
    }

    @Test(arguments: [25, 40, 80])
    func theInterruptMessageHasItsOwnLine(_ columns: Int) async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let manifest = try larder.manifest(larder.origin.url("/a"))
            let screen = try TerminalScreen(
                prefetch(larder, manifest), columns: columns, in: larder.directory)
            try screen.wait(for: "\r0/1  ")
            try await larder.origin.waitForRequests(1)
            try screen.type("C-c")
            try screen.wait(for: "once\r\n")
            try screen.wait(for: "\r0/1  ")
            let shown = try screen.lines()
            let message =
                "larder: transfers in flight have 2 s to finish; interrupt again to exit at once"
            #expect(words(shown.dropLast()) == message)
            #expect(shown.last?.hasPrefix("0/1  ") == true, "\(shown)")
            gate.open()
            let (status, lines) = try screen.finish()
            #expect(status == 130)
            #expect(words(lines).hasPrefix(message))
            #expect(!lines.contains { $0.contains("^C") || $0.contains("1 in flight") }, "\(lines)")
        }
    }

    /// The line shows the retries instead of `0/3` for minutes. Names below `.invalid` never
    /// resolve (RFC 6761, section 6.4).
    @Test func unresolvedNamesAreShownAsWaitingToRetry() async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: (0..<3).map { "http://h.invalid/\($0).png" })
            let screen = try TerminalScreen(
                prefetch(larder, manifest), columns: 80, in: larder.directory,
                environment: ["RES_OPTIONS": "timeout:1 attempts:1"])
            try screen.wait(for: " waiting to retry  next in ")
            #expect(try screen.lines().count == 1)
            try screen.type("C-c")
            #expect(try screen.finish().status == 130)
        }
    }

    @Test func aNarrowTerminalShowsWaitingRetries() async throws {
        try await withFixture { larder in
            let port = try Origin.refusedPort()
            let manifest = try larder.manifest(
                urls: (0..<3).map { "http://127.0.0.1:\(port)/\($0)" })
            let screen = try TerminalScreen(
                prefetch(larder, manifest, "--attempts", "100"), columns: 40,
                in: larder.directory)
            try screen.wait(for: "\r0/3  3 waiting to retry  next in ")
            try screen.resize(columns: 25)
            try screen.wait(for: "\r0/3  3 waiting to retry\u{1B}[K")
            try screen.type("C-c")
            #expect(try screen.finish().status == 130)
        }
    }

    @Test func aDumbTerminalGetsNoEscapeSequences() async throws {
        try await withFixture { larder in
            let gate = try Gate()
            larder.origin.onAny { _ in Icons.reply(1).heldBy(gate) }
            let manifest = try larder.manifest(urls: (0..<6).map { larder.origin.url("/\($0)") })
            let screen = try TerminalScreen(
                prefetch(larder, manifest), columns: 80, in: larder.directory,
                environment: ["TERM": "dumb"])
            let whole = "0/6  6 in flight  0 B  0 B/s  0 failed"
            try screen.wait(for: "\r\(whole)\r")
            try screen.resize(columns: 20)
            // Blanks overwrite the rest of the longer line, up to the terminal's width.
            try screen.wait(for: "\r0/6  0 B  0 B/s    \r")
            gate.open()
            let (status, lines) = try screen.finish()
            #expect(status == 0)
            #expect(lines.contains { $0.contains("6 entries: fetched 6") }, "\(lines)")
            #expect(!screen.hasWritten("\u{1B}"))
        }
    }

    /// How many objects `verify` has checked when it first draws the line depends on the machine.
    @Test(arguments: [
        (["evict", "--max-count", "0"], "\r0/4 objects evicted  "),
        (["reindex"], "\r1/4 objects read  "), (["snapshot"], "\r1/4 objects copied  "),
        (["verify"], "/4 objects  "), (["plan"], "\rreading "),
    ])
    func longCommandsShowProgressAndRemoveIt(_ command: [String], _ line: String) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest(urls: larder.origin.serveIcons(4))
            #expect(try larder.prefetch(manifest).status == 0)
            var command = [larder.binary.path] + command + ["--cache", larder.cache]
            if command[1] == "snapshot" { command.append(larder.directory.path("copy")) }
            if command[1] == "plan" { command.append(manifest) }
            let screen = try TerminalScreen(command, columns: 80, in: larder.directory)
            try screen.wait(for: line)
            let (status, lines) = try screen.finish()
            #expect(status == 0)
            let progress = line.replacing("\r", with: "")
            #expect(!lines.contains { $0.contains(progress) }, "\(lines)")
        }
    }
}
