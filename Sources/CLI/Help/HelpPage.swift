import ArgumentParser

/// A command's help, for a terminal of some width.
struct HelpPage {
    /// Beside its label, a description would be a narrow column on a narrow terminal.
    private static let leastWidthForColumns = 72
    private static let labelWidth = 26

    let command: CommandInfo
    /// The subcommands, on the page of the whole program or of a group.
    var commands: [CommandInfo] = []
    /// Whether it has all options, or those that people use most.
    var isComplete = false
    let width: Int

    var text: String {
        var sections = [overview, usage]
        sections.append(section("Arguments", command.positionals))
        let usual = command.usualOptions
        if isComplete {
            sections += command.groups.map { section($0.title, $0.options) }
        } else {
            sections.append(section("Options", usual.shown))
        }
        if !commands.isEmpty {
            sections.append(list("Commands", commands.map { ($0.name, $0.abstract) }))
            let statuses = ExitStatus.meanings.map { ("\($0.status)", $0.meaning) }
            sections.append(list("Exit status", statuses))
        }
        if !isComplete, usual.left > 0 {
            sections.append(
                "\(usual.left) more options: \(command.line) --help-all\n"
                    .wrapped(to: width))
        }
        if !commands.isEmpty {
            sections.append(
                """
                Help for a command: \(command.line) <command> --help, or --help-all for all options

                """.wrapped(to: width))
        }
        return sections.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var overview: String {
        [command.abstract, command.discussion].filter { !$0.isEmpty }.joined(separator: "\n\n")
            .wrapped(to: width) + "\n"
    }

    private var usage: String {
        let words =
            [command.line] + (commands.isEmpty ? [] : ["<command>"]) + ["[<options>]"]
            + command.positionals.map(\.label)
        return ("USAGE: " + words.joined(separator: " ")).wrapped(to: width, hanging: 7) + "\n"
    }

    private func section(_ title: String, _ arguments: [ArgumentInfo]) -> String {
        list(title, arguments.map { ($0.label, $0.explanation) })
    }

    private func list(_ title: String, _ items: [(label: String, text: String)]) -> String {
        guard !items.isEmpty else { return "" }
        let lines = items.map { label, text in
            let label = "  " + label
            guard width >= Self.leastWidthForColumns else {
                return label + "\n" + text.wrapped(to: width, indent: 6)
            }
            let text = text.wrapped(to: width, indent: Self.labelWidth)
            return label.count < Self.labelWidth - 1
                ? label + text.dropFirst(label.count) : label + "\n" + text
        }
        let heading = (title.uppercased() + ":\n").wrapped(to: width)
        return heading + lines.joined(separator: "\n") + "\n"
    }
}

/// What the arguments ask help for: `help`, a command with `--help` or `--help-all`, or a group of
/// commands alone.
struct HelpRequest {
    private let command: NamedCommand
    private let wantsAll: Bool

    /// Nil if they do not ask for help, or begin with what is no command.
    init?(_ arguments: [String], program: any ParsableCommand.Type) {
        let words = arguments.prefix { $0 != "--" }
        let isHelpCommand = words.first == "help"
        let flags = words.filter { $0.hasPrefix("-") }
        let names = words.dropFirst(isHelpCommand ? 1 : 0).filter { !$0.hasPrefix("-") }
        let (command, rest) = NamedCommand(program: program).find(names)
        let isGroupAlone = command.isGroup && arguments == names
        guard
            isHelpCommand || isGroupAlone
                || flags.contains(where: ["-h", "--help", "--help-all"].contains)
        else { return nil }
        if command.isGroup, !rest.isEmpty { return nil }
        self.command = command
        wantsAll = flags.contains("--help-all") || isHelpCommand && flags.contains("--all")
    }

    func page(width: Int) throws -> HelpPage {
        let isProgram = command.name.isEmpty
        return HelpPage(
            command: try isProgram ? CommandInfo(program: command.type) : CommandInfo(command),
            commands: try command.descendants.map { try CommandInfo($0) },
            isComplete: wantsAll && !isProgram, width: width)
    }
}

extension String {
    /// The text with its lines broken between words, so that none is wider if words allow. Lines
    /// that begin with a blank keep their indentation.
    ///
    /// - Parameters:
    ///   - indent: how many blanks precede each line. Default: 0.
    ///   - hanging: how many more precede the lines that a break makes. Default: 0.
    func wrapped(to width: Int, indent: Int = 0, hanging: Int = 0) -> String {
        split(separator: "\n", omittingEmptySubsequences: false).map { line in
            let own = line.prefix { $0 == " " }.count + indent
            var lines: [String] = []
            var current = String(repeating: " ", count: own)
            var isEmpty = true
            for word in line.split(separator: " ") {
                if !isEmpty, current.count + 1 + word.count > width {
                    lines.append(current)
                    current = String(repeating: " ", count: own + hanging)
                    isEmpty = true
                }
                current += (isEmpty ? "" : " ") + word
                isEmpty = false
            }
            return (lines + [isEmpty ? "" : current]).joined(separator: "\n")
        }.joined(separator: "\n")
    }
}

/// How wide help and messages may be.
enum TextWidth {
    /// Longer lines are hard to read.
    private static let most = 100
    private static let usual = 80

    /// What `$COLUMNS` says, else the terminal behind a descriptor.
    static func of(_ descriptor: Int32) -> Int {
        min(Terminal.saidColumns ?? Terminal.columns(of: descriptor) ?? usual, most)
    }
}
