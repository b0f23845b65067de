import ArgumentParser
import Foundation

/// What may stand at the end of a command line. The scripts of all shells ask it.
struct Completer {
    /// What a shell offers.
    enum Answer {
        case files, directories
        /// Words, each with what it means. Those that end in `/` are beginnings.
        case words([(word: String, meaning: String)])

        /// One line that says which, and one for each word.
        var text: String {
            switch self {
            case .files: "files\n"
            case .directories: "directories\n"
            case .words(let words):
                "words\n" + words.map { "\($0.word)\t\($0.meaning)\n" }.joined()
            }
        }
    }

    private let program: any ParsableCommand.Type

    init(program: any ParsableCommand.Type) { self.program = program }

    /// - Parameter words: those after the program's name; the last one is being typed.
    func answer(to words: [String]) throws -> Answer {
        // Whatever it takes: a shell waits for it, and then offers files.
        alarm(2)
        var words = words
        let current = words.popLast() ?? ""
        guard let name = words.first else {
            return current.hasPrefix("-")
                ? .matching(CommandInfo(program: program).options.flatMap(Self.words), current)
                : commandNames(matching: current)
        }
        let command = program.configuration.subcommands.first {
            $0.configuration.commandName == name
        }
        if let command {
            return try answer(
                CommandLineState(CommandInfo(command), Array(words.dropFirst())), current)
        }
        if name == "help" {
            return current.hasPrefix("-")
                ? .matching([("--all", "Show all options.")], current)
                : commandNames(matching: current)
        }
        let option = CommandInfo(program: program).option(name)
        return words.count == 1 ? option.map { values($0, current) } ?? .files : .files
    }

    private func answer(_ state: CommandLineState, _ current: String) -> Answer {
        if let option = state.awaiting { return values(option, current) }
        if !state.isTerminated, current.hasPrefix("-") {
            if let equals = current.firstIndex(of: "="),
                let option = state.command.option(String(current[..<equals]))
            {
                let value = current.index(after: equals)
                return values(option, String(current[value...]), after: current[..<value])
            }
            return .matching(state.unusedOptions.flatMap(Self.words), current)
        }
        guard let argument = state.positional else {
            return state.isTerminated
                ? .files : .matching(state.unusedOptions.flatMap(Self.words), current)
        }
        guard let kind = CachedNames.Kind(argument, of: state.command.name) else {
            return values(argument, current)
        }
        return .matching(
            CachedNames(kind, cache: state.cache).beginning(with: current).map { ($0, "") }, current
        )
    }

    /// - Parameter lead: what precedes the value in the same word.
    private func values(
        _ argument: ArgumentInfo, _ current: String, after lead: Substring = ""
    ) -> Answer {
        if let values = argument.allValues, !values.isEmpty {
            return .matching(values.map { (lead + $0, "") }, lead + current)
        }
        return ["dir", "directory"].contains(argument.valueName) ? .directories : .files
    }

    private func commandNames(matching current: String) -> Answer {
        let commands = program.configuration.subcommands.map { command in
            (command.configuration.commandName ?? "", command.configuration.abstract)
        }
        return .matching(commands + [("help", "Show help.")], current)
    }

    private static func words(_ option: ArgumentInfo) -> [(String, String)] {
        option.spellings.filter { $0.hasPrefix("--") }.map { ($0, option.summary) }
    }
}

extension Completer.Answer {
    /// The words that begin so; files if none does, as without completions.
    fileprivate static func matching(
        _ words: [(word: String, meaning: String)], _ current: String
    ) -> Self {
        let words = words.filter { $0.word.utf8.starts(with: current.utf8) }
        return words.isEmpty ? .files : .words(words)
    }
}
