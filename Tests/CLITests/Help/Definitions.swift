import Foundation
import LarderTestSupport

/// The commands and options that the argument parser defines, independent of larder's own help.
struct Definitions {
    struct Command {
        /// The words after `larder`, for example `verify` or `remote verify`.
        let name: String
        /// Whether the command has subcommands.
        let isGroup: Bool
        /// The long names of the options.
        let options: [String]

        var words: [String] { name.split(separator: " ").map(String.init) }
    }

    /// All commands. A group precedes its subcommands.
    let commands: [Command]

    init() throws {
        let finished = try LarderBinary().run(["--experimental-dump-help"])
        let dump = try JSONDecoder().decode(Dump.self, from: finished.standardOutputBytes)
        commands = Self.commands(dump.command.subcommands, below: [])
    }

    private static func commands(_ dumped: [Dump.Command], below group: [String]) -> [Command] {
        dumped.filter { $0.commandName != "help" }.flatMap { command in
            let options = command.arguments.filter { $0.kind != "positional" && $0.abstract != nil }
                .compactMap { $0.names?.first { $0.kind == "long" }?.name }
            let words = group + [command.commandName]
            let subcommands = command.subcommands ?? []
            // The parser adds `--version` to every command.
            let own = Command(
                name: words.joined(separator: " "), isGroup: !subcommands.isEmpty,
                options: options.filter { $0 != "version" }.map { "--\($0)" })
            return [own] + commands(subcommands, below: words)
        }
    }

    /// Returns the command that the first words of a command line name.
    func command(of line: Substring) -> Command? {
        let words = line.split(separator: " ").map(String.init)
        return commands.last { words.starts(with: $0.words) }
    }

    private struct Dump: Decodable {
        struct Program: Decodable { let subcommands: [Command] }
        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?
            let arguments: [Argument]
        }
        struct Argument: Decodable {
            let kind: String
            let abstract: String?
            let names: [Name]?
        }
        struct Name: Decodable {
            let kind: String
            let name: String
        }

        let command: Program
    }
}
