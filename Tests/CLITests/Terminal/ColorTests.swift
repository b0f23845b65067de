import LarderTestSupport
import Testing

@Suite struct ColorTests {
    private static let red = "\u{1B}[31m"

    @Test(arguments: [
        (["auto"], [:], false), (["always"], [:], true), (["never"], [:], false),
        ([], ["CLICOLOR_FORCE": "1"], true), ([], ["CLICOLOR_FORCE": "0"], false),
        (["never"], ["CLICOLOR_FORCE": "1"], false), (["always"], ["NO_COLOR": "1"], true),
        ([], ["CLICOLOR_FORCE": "1", "NO_COLOR": "1"], false),
        ([], ["CLICOLOR_FORCE": "1", "NO_COLOR": ""], true),
    ])
    func optionsAndVariablesTurnColoursOnAndOff(
        _ choice: [String], _ environment: [String: String], _ isColoured: Bool
    ) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest("https://")
            let finished = try larder.run(
                arguments: ["plan", manifest] + choice.flatMap { ["--color", $0] },
                environment: ["NO_COLOR": "", "CLICOLOR_FORCE": ""].merging(environment) { $1 })
            #expect(finished.status == 2)
            #expect(
                finished.standardOutput.contains(Self.red + "failed") == isColoured, "\(finished)")
            #expect(finished.standardOutput.contains("\u{1B}") == isColoured)
        }
    }

    @Test(
        .enabled(if: TerminalScreen.tmux != nil),
        arguments: [
            (["NO_COLOR": ""], true), (["NO_COLOR": "1"], false),
            (["NO_COLOR": "", "CLICOLOR": "0"], false), (["NO_COLOR": "", "TERM": "dumb"], false),
        ])
    func terminalOutputIsColouredUnlessTurnedOff(
        _ environment: [String: String], _ isColoured: Bool
    ) async throws {
        try await withFixture { larder in
            let manifest = try larder.manifest("https://")
            let screen = try TerminalScreen(
                [larder.binary.path, "plan", manifest, "--cache", larder.cache], columns: 80,
                in: larder.directory, environment: environment)
            #expect(try screen.finish().status == 2)
            #expect(screen.hasWritten(Self.red) == isColoured)
        }
    }

    @Test func failedStaleAndCleanAreColoured() async throws {
        try await withFixture { larder in
            larder.origin.on("/a", Icons.reply(1).header("Cache-Control", "max-age=0"))
            let manifest = try larder.manifest(larder.origin.url("/a"), larder.origin.url("/b"))
            func output(_ arguments: [String]) throws -> String {
                try larder.run(arguments: arguments + ["--color", "always"]).standardOutput
            }
            let prefetch = ["prefetch", manifest, "--allow-private-network"]
            #expect(try output(prefetch).contains("\u{1B}[31mfailed 1\u{1B}[0m"))
            #expect(try output(["plan", manifest]).contains("\u{1B}[33mstale\u{1B}[0m"))
            #expect(try output(["status"]).contains("\u{1B}[33m1 stale\u{1B}[0m"))
            #expect(try output(["verify"]).hasSuffix("\u{1B}[32mclean\u{1B}[0m\n"))
            #expect(
                try output(["evict", "--min-free", "1"]).contains("\u{1B}") == false)
        }
    }
}
