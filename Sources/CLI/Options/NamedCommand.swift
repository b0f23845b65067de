import ArgumentParser

/// A command and the words that name it: `verify`, or `remote verify`.
struct NamedCommand {
    /// Commands of earlier versions that are programs of their own now.
    private static let programs = ["rehearse": "larder-rehearse"]

    /// Empty for the whole program.
    let name: String
    let type: any ParsableCommand.Type

    /// The whole program.
    init(program: any ParsableCommand.Type) {
        self.init(name: "", type: program)
    }

    private init(name: String, type: any ParsableCommand.Type) {
        self.name = name
        self.type = type
    }

    /// Whether it has subcommands, and does nothing by itself.
    var isGroup: Bool { !type.configuration.subcommands.isEmpty }

    /// The last word of its name.
    var word: String { type._commandName }

    var subcommands: [NamedCommand] {
        type.configuration.subcommands.map { command in
            let word = command._commandName
            return NamedCommand(name: name.isEmpty ? word : "\(name) \(word)", type: command)
        }
    }

    /// The subcommands, each followed by its own.
    var descendants: [NamedCommand] { subcommands.flatMap { [$0] + $0.descendants } }

    /// Returns the command that the first words name, and the words after its name.
    func find(_ words: [String]) -> (command: NamedCommand, rest: [String]) {
        guard let next = subcommands.first(where: { $0.word == words.first }) else {
            return (self, words)
        }
        return next.find(Array(words.dropFirst()))
    }

    /// Checks that the first words of a command line name a command. `help` may come before them.
    ///
    /// - Throws: `ValidationError` if they do not, with the command that may be meant.
    func check(_ words: [String]) throws {
        let (group, rest) = find(Array(words.drop { $0 == "help" }))
        guard group.isGroup, let word = rest.first, !word.hasPrefix("-") else { return }
        if let program = Self.programs[word] {
            throw ValidationError("'\(word)' is now a program of its own: \(program)")
        }
        let lead = group.name.isEmpty ? "" : group.name + " "
        let moved = descendants.first { $0.word == word }
        let hint =
            moved.map { ". Did you mean '\($0.name)'?" }
            ?? NearestName.hint(for: word, among: group.subcommands.map(\.word), lead: lead)
        throw ValidationError("Unknown command \((lead + word).quoted(limit: 40))\(hint)")
    }
}
