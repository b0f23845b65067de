import Foundation
import LarderTestSupport
import Testing

/// The commands of the real program and their options, as it says itself.
struct CommandReference {
    /// The long options of each command, by its name, without their dashes.
    let options: [String: Set<String>]
    /// Of these, what the parser gives to every command, and what only larder itself uses.
    static let unmentioned: Set = ["help", "version", "worker"]

    private struct Dump: Decodable {
        struct Command: Decodable {
            let commandName: String
            let subcommands: [Command]?
            let arguments: [Argument]?
        }

        struct Argument: Decodable {
            struct Name: Decodable {
                let kind: String
                let name: String
            }

            let names: [Name]?
        }

        let command: Command
    }

    init() throws {
        let finished = try LarderBinary().run(["--experimental-dump-help"])
        let dump = try JSONDecoder().decode(Dump.self, from: finished.standardOutputBytes)
        let commands = try #require(dump.command.subcommands).filter { $0.commandName != "help" }
        options = Dictionary(
            uniqueKeysWithValues: commands.map { command in
                let names = (command.arguments ?? []).flatMap { $0.names ?? [] }
                return (command.commandName, Set(names.filter { $0.kind == "long" }.map(\.name)))
            })
    }
}
