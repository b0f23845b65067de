import ArgumentParser
import LarderPrefetch

/// The manual page of a command, or of the whole program, in man(7).
struct ManualPage {
    let command: CommandInfo
    /// The subcommands, on the page of the whole program or of a group.
    let commands: [CommandInfo]
    /// As it is shown; empty if none is known.
    let date: String

    /// Its file and its title: `larder-prefetch`.
    var name: String { Self.name(of: command) }

    private static func name(of command: CommandInfo) -> String {
        command.line.replacing(" ", with: "-")
    }

    private var isProgram: Bool { command.name.isEmpty }

    var text: String {
        var text = """
            .\\" Written by larder --generate-manual.
            .TH "\(name.uppercased())" "1" "\(date)" "larder \(LarderVersion.current)" \
            "Larder Manual"

            """
        // Neither hyphens nor stretched lines: code is copied.
        text += ".nh\n.nr HY 0\n.ad l\n"
        let abstract = command.abstract.hasSuffix(".") ? command.abstract.dropLast() : ""
        text += section("NAME", Roff.text("\(name) - \(abstract)") + "\n")
        text += section("SYNOPSIS", synopsis)
        text += section("DESCRIPTION", Roff.paragraphs(command.discussion))
        text += section(
            "COMMANDS",
            commands.map { Roff.item(Roff.bold(Self.name(of: $0)) + "(1)", $0.abstract) }.joined())
        text += section("ARGUMENTS", items(command.positionals))
        text += section("OPTIONS", options)
        text += section(
            "EXIT STATUS",
            ExitStatus.meanings.map { Roff.item(Roff.bold("\($0.status)"), $0.meaning) }
                .joined())
        text += section("ENVIRONMENT", list(Surroundings.environment))
        text += section("FILES", list(Surroundings.files))
        text += section("EXAMPLES", examples)
        return text + section("SEE ALSO", seeAlso)
    }

    private var synopsis: String {
        let subcommand = commands.isEmpty ? [] : [Roff.italic("command")]
        let options = ["[\(Roff.italic("options"))]"]
        let arguments = command.positionals.map { Self.markedUp($0) }
        return ([Roff.bold(command.line)] + subcommand + options + arguments)
            .joined(separator: " ") + "\n"
    }

    private var options: String {
        command.groups.enumerated().map { number, group in
            (number == 0 ? "" : ".SS " + Roff.text(group.title) + "\n") + items(group.options)
        }.joined()
    }

    private var examples: String {
        command.guide.examples.map { example in
            let line = ".RS 4\n.EX\n\(Roff.text(example.line))\n.EE\n.RE\n"
            return Roff.text(example.purpose) + "\n.PP\n" + line
        }.joined(separator: ".PP\n")
    }

    private var seeAlso: String {
        let others = (isProgram ? [] : ["larder"]) + commands.map(Self.name)
        let pages = others.map { ($0, 1) } + [("larder-manifest", 5)]
        return pages.map { Roff.bold($0) + "(\($1))" }.joined(separator: ",\n") + "\n"
    }

    private func section(_ title: String, _ text: String) -> String {
        text.isEmpty ? "" : ".SH \(title.contains(" ") ? "\"\(title)\"" : title)\n\(text)"
    }

    private func items(_ arguments: [ArgumentInfo]) -> String {
        arguments.map { Roff.item(Self.markedUp($0), $0.explanation) }.joined()
    }

    private func list(_ surroundings: [Surroundings]) -> String {
        surroundings.filter { isProgram || $0.matters(to: command) }
            .map { Roff.item(Roff.bold($0.name), $0.meaning) }.joined()
    }

    /// What is typed as it is in bold, what stands for something else in italics.
    private static func markedUp(_ argument: ArgumentInfo) -> String {
        let names = argument.spellings.map(Roff.bold).joined(separator: ", ")
        let value = argument.kind == .flag ? "" : Roff.italic(argument.valueName ?? "value")
        let end = argument.kind == .positional && argument.isRepeating ? " ..." : ""
        return [names, value].filter { !$0.isEmpty }.joined(separator: " ") + end
    }
}

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
            let program = NamedCommand(program: program)
            func page(_ info: CommandInfo, of command: NamedCommand) throws -> ManualPage {
                let commands = try command.descendants.map { try CommandInfo($0) }
                return ManualPage(command: info, commands: commands, date: date)
            }
            return [try page(CommandInfo(program: program.type), of: program)]
                + (try program.descendants.map { try page(CommandInfo($0), of: $0) })
        }
    }
}

/// Text in the language of manual pages, man(7).
enum Roff {
    /// A text on lines of its own, each shown as it is.
    static func text(_ text: String) -> String {
        text.split(separator: "\n", omittingEmptySubsequences: false)
            .map { line in
                let line = escaped(String(line))
                // A line that begins so would be a request.
                return line.hasPrefix(".") || line.hasPrefix("'") ? "\\&" + line : line
            }
            .joined(separator: "\n")
    }

    /// Paragraphs, which empty lines divide. Lines within one stay lines.
    static func paragraphs(_ text: String) -> String {
        text.split(separator: "\n\n").map { paragraph in
            let lines = paragraph.split(separator: "\n").map { Roff.text(String($0)) }
            return lines.joined(separator: "\n.br\n") + "\n"
        }.joined(separator: ".PP\n")
    }

    static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }
    static func italic(_ text: String) -> String { "\\fI\(escaped(text))\\fR" }

    /// A term, already marked up, and what it means.
    static func item(_ term: String, _ meaning: String) -> String {
        ".TP\n\(term)\n\(text(meaning))\n"
    }

    /// Hyphens become those that can be copied into a shell, and quotes stay straight.
    private static func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "\\": result += "\\e"
            case "-": result += "\\-"
            case "'": result += "\\(aq"
            case "^": result += "\\(ha"
            case "~": result += "\\(ti"
            case "`": result += "\\(ga"
            case "…": result += "\\&..."
            default: result.append(character)
            }
        }
        return result
    }
}
