import ArgumentParser

/// What the arguments ask help for: nothing, `help`, or a command with `--help` or `--help-all`.
struct HelpRequest {
    private let program: any ParsableCommand.Type
    /// Nil stands for the whole program.
    private let command: (any ParsableCommand.Type)?
    private let wantsAll: Bool

    /// Nil if they do not ask for help, or begin with what is no command.
    init?(_ arguments: [String], program: any ParsableCommand.Type) {
        let words = arguments.prefix { $0 != "--" }
        let isHelpCommand = words.first == "help"
        let flags = words.filter { $0.hasPrefix("-") }
        guard
            isHelpCommand || arguments.isEmpty
                || flags.contains(where: ["-h", "--help", "--help-all"].contains)
        else { return nil }
        let names = words.dropFirst(isHelpCommand ? 1 : 0).filter { !$0.hasPrefix("-") }
        self.program = program
        command = names.first.flatMap { name in
            program.configuration.subcommands.first { $0.configuration.commandName == name }
        }
        if !names.isEmpty, command == nil { return nil }
        wantsAll = flags.contains("--help-all") || isHelpCommand && flags.contains("--all")
    }

    func page(width: Int) throws -> HelpPage {
        if let command {
            return HelpPage(command: try CommandInfo(command), isComplete: wantsAll, width: width)
        }
        let commands = try program.configuration.subcommands.map { try CommandInfo($0) }
        return HelpPage(
            command: CommandInfo(program: program), commands: commands, width: width)
    }
}
