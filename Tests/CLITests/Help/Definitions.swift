import Foundation
import LarderTestSupport

/// The commands and their options as the argument parser has them, apart from what larder's own
/// help says of them.
struct Definitions {
    struct Command {
        let name: String
        /// Its options in their long spelling.
        let options: [String]
    }

    let commands: [Command]

    init() throws {
        let finished = try LarderBinary().run(["--experimental-dump-help"])
        let dump = try JSONDecoder().decode(Dump.self, from: finished.standardOutputBytes)
        commands = dump.command.subcommands.filter { $0.commandName != "help" }.map { command in
            let options = command.arguments.filter { $0.kind != "positional" && $0.abstract != nil }
                .compactMap { $0.names?.first { $0.kind == "long" }?.name }
            // The parser's own for every command.
            return Command(
                name: command.commandName,
                options: options.filter { $0 != "version" }.map { "--\($0)" })
        }
    }

    private struct Dump: Decodable {
        struct Program: Decodable { let subcommands: [Command] }
        struct Command: Decodable {
            let commandName: String
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
