import ArgumentParser

/// The manual pages of all commands.
struct Manual {
    private static let option = "--generate-manual"

    private let directory: String
    private let date: String
    private let program: any ParsableCommand.Type

    /// Nil if the arguments do not ask for it.
    ///
    /// - Throws: `ValidationError` if they name no directory.
    init?(_ arguments: [String], program: any ParsableCommand.Type) throws {
        guard arguments.first == Self.option else { return nil }
        guard (2...3).contains(arguments.count), !arguments[1].isEmpty else {
            throw ValidationError("\(Self.option) needs the name of a directory.")
        }
        directory = arguments[1]
        date = arguments.count == 3 ? arguments[2] : ""
        self.program = program
    }

    /// Writes the pages. Their date is the argument after the directory, or none: the same bytes
    /// every time.
    func write() throws {
        for page in try pages {
            try OutputFile.write(page.text, to: "\(directory)/\(page.name).1")
        }
    }

    private var pages: [ManualPage] {
        get throws {
            let commands = try program.configuration.subcommands.map { try CommandInfo($0) }
            let page = { command, isProgram in
                ManualPage(
                    command: command, commands: commands, isProgram: isProgram, date: date)
            }
            return [page(CommandInfo(program: program), true)] + commands.map { page($0, false) }
        }
    }
}
