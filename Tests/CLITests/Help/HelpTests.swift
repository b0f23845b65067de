import Foundation
import LarderImages
import LarderTestSupport
import Testing

@Suite struct HelpTests {
    private let larder: LarderBinary
    private let commands: [Definitions.Command]

    init() throws {
        larder = try LarderBinary()
        commands = try Definitions().commands
    }

    private func help(_ arguments: String..., columns: Int = 80) throws -> String {
        try help(arguments, columns: columns)
    }

    private func help(_ arguments: [String], columns: Int = 80) throws -> String {
        let finished = try larder.run(arguments, environment: ["COLUMNS": "\(columns)"])
        #expect(finished.status == 0, "\(finished)")
        #expect(finished.standardError.isEmpty)
        return finished.standardOutput
    }

    /// Returns the options that a page describes, in order.
    private func options(in help: String) -> [String] {
        help.matches(of: /(?m)^  (?:-\w, )?(--[a-z-]+)/).map { String($0.output.1) }
    }

    @Test(arguments: [40, 60, 80, 200]) func helpFitsTheColumns(_ columns: Int) throws {
        var pages = [try help("--help", columns: columns)]
        for command in share(of: commands) {
            pages.append(try help(command.words + ["--help"], columns: columns))
            pages.append(try help(command.words + ["--help-all"], columns: columns))
        }
        for line in pages.joined(separator: "\n").split(separator: "\n") {
            #expect(line.count <= min(columns, 100), "\(line)")
        }
        // The pages use the available width.
        let widest = pages.joined().split(separator: "\n").map(\.count).max() ?? 0
        #expect(widest > min(columns, 100) - 8)
    }

    @Test func helpFitsTheTerminal() throws {
        try withTemporaryDirectory { directory in
            let terminal = try TerminalProcess(
                larder.path, ["evict", "--help"], columns: 47, environment: [:],
                directory: directory.path)
            let (status, text) = try terminal.finish()
            #expect(status == 0)
            let widest = text.split(separator: "\n").map(\.count).max() ?? 0
            #expect((40...47).contains(widest), "\(text)")
        }
    }

    /// On a terminal, messages are wrapped. In a pipe, they are not.
    @Test(arguments: [
        ["prefetch"], ["evict", "--max-size"], ["evict", "--by", "x"],
        ["prefetch", "a", "--nonsuch"],
    ])
    func wrongUsageMessagesFitTheTerminal(_ arguments: [String]) throws {
        try withTemporaryDirectory { directory in
            let terminal = try TerminalProcess(
                larder.path, arguments, columns: 40, environment: [:], directory: directory.path)
            let (status, text) = try terminal.finish()
            #expect(status == 64)
            #expect(text.contains("\nUsage: larder \(arguments[0])"), "\(text)")
            for line in text.split(separator: "\n") { #expect(line.count <= 40, "\(line)") }
            let piped = try larder.run(arguments, environment: ["COLUMNS": "40"])
            #expect(
                piped.standardError.split(separator: /\s+/) == text.split(separator: /\s+/),
                "\(piped)")
            #expect(piped.standardError.split(separator: "\n").count <= 4, "\(piped)")
        }
    }

    /// `--help` lists the common options, and names the command that lists all of them.
    @Test(
        arguments: share(of: [
            "prefetch", "plan", "verify", "evict", "pin", "unpin", "export", "import",
            "remote push", "remote pull", "remote verify", "remote evict",
        ]))
    func theShortHelpOmitsRareOptions(_ name: String) throws {
        let words = name.split(separator: " ").map(String.init)
        let short = try help(words + ["--help"])
        let shown = options(in: short)
        #expect((9...22).contains(shown.count), "\(shown)")
        #expect(Set(shown).count == shown.count)
        let all = options(in: try help(words + ["--help-all"]))
        #expect(Set(shown).isSubset(of: all))
        #expect(shown.count < all.count)
        #expect(short.hasSuffix("\nMore options: larder \(name) --help-all\n"), "\(short)")
    }

    @Test func helpAllListsEveryOption() throws {
        for command in share(of: commands) {
            let all = options(in: try help(command.words + ["--help-all"]))
            #expect(Set(all).subtracting(["--version"]) == Set(command.options), "\(command.name)")
            #expect(all.count == Set(all).count)
        }
    }

    @Test func theHelpNamesEveryImageFormat() throws {
        let text = try help("prefetch", "--help-all")
        for format in ImageFormat.all { #expect(text.contains(format.mediaType.name)) }
    }

    @Test(arguments: [("-n", "--dry-run"), ("-j", "--max-concurrent")])
    func everyCommandHasTheSameShortName(_ short: String, _ option: String) throws {
        let having = commands.filter { $0.options.contains(option) }
        #expect(having.count > 1)
        for command in having {
            let all = try help(command.words + ["--help-all"])
            #expect(all.contains("\n  \(short), \(option)"), "\(command.name)")
        }
    }

    @Test func helpCanBeRequestedInSeveralWays() throws {
        #expect(try help("help", "evict", "--help-all") == help("evict", "--help-all"))
        #expect(try help("help", "evict") == help("evict", "--help"))
        #expect(try help("evict", "-h") == help("evict", "--help"))
        #expect(try help("evict", "--max-size", "--help") == help("evict", "--help"))
        #expect(try help("help") == help("--help"))
        #expect(try help() == help("--help"))
        #expect(try help("help", "remote", "push") == help("remote", "push", "--help"))
        #expect(try help("help", "remote") == help("remote", "--help"))
        #expect(try help("remote") == help("remote", "--help"))
        // A request for help takes precedence over wrong options.
        #expect(try help("evict", "--nonsuch", "--help") == help("evict", "--help"))
        // After `--`, it is an argument.
        #expect(try larder.run(["plan", "--", "--help"]).status == 66)
    }

    @Test func theHelpOfAGroupListsItsCommands() throws {
        let text = try help("remote")
        for name in ["push", "pull", "verify", "evict"] {
            #expect(text.contains("\n  \(name) "), "\(name)")
        }
        #expect(try help("remote", "push", "--help").contains("\nUSAGE: larder remote push "))
        #expect(text.contains("\nUSAGE: larder remote <subcommand>\n"))
    }

    @Test func theMainHelpListsCommandsAndExitStatuses() throws {
        let text = try help("--help")
        for command in commands where command.words.count == 1 {
            #expect(text.contains("\n  \(command.name) "), "\(command.name)")
        }
        for status in [0, 1, 2, 64, 65, 66, 74, 75, 130, 143] {
            #expect(text.contains("\n  \(status) "), "\(status)")
        }
    }
}
