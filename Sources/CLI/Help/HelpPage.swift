/// A command's help, for a terminal of some width.
struct HelpPage {
    /// Beside its label, a description would be a narrow column on a narrow terminal.
    private static let leastWidthForColumns = 72
    private static let labelWidth = 26

    let command: CommandInfo
    /// The commands, on the page of the whole program; else empty.
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
                "\(usual.left) more options: larder \(command.name) --help-all\n"
                    .wrapped(to: width))
        }
        if !commands.isEmpty {
            sections.append(
                "Help for a command: larder <command> --help, or --help-all for all options\n"
                    .wrapped(to: width))
        }
        return sections.filter { !$0.isEmpty }.joined(separator: "\n")
    }

    private var overview: String {
        [command.abstract, command.discussion].filter { !$0.isEmpty }.joined(separator: "\n\n")
            .wrapped(to: width) + "\n"
    }

    private var usage: String {
        let words =
            commands.isEmpty
            ? ["larder", command.name, "[<options>]"] + command.positionals.map(\.label)
            : ["larder", "<command>", "[<options>]"]
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
