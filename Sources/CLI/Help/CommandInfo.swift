import ArgumentParser
import Foundation

/// What a command is and takes: the one source of its help, its manual page and its completions.
struct CommandInfo {
    let name: String
    let abstract: String
    let discussion: String
    let arguments: [ArgumentInfo]
    let guide: CommandGuide

    /// A command as the argument parser describes it.
    init(_ command: any ParsableCommand.Type) throws {
        let dump = try JSONDecoder().decode(Dump.self, from: Data(command._dumpHelp().utf8)).command
        name = dump.commandName
        abstract = dump.abstract ?? ""
        discussion = dump.discussion ?? ""
        guide = (command as? any GuidedCommand.Type)?.guide ?? CommandGuide()
        let builtIn = ["-h", "--help", "--version"]
        arguments =
            dump.arguments.filter { argument in
                // What has no description is not for people.
                argument.abstract != nil && !argument.spellings.contains(where: builtIn.contains)
            } + (guide.usual.isEmpty ? [.help] : [.help, .helpAll])
    }

    /// The whole program.
    init(program: any ParsableCommand.Type) {
        let configuration = program.configuration
        name = configuration.commandName ?? ""
        abstract = configuration.abstract
        discussion = configuration.discussion
        guide = (program as? any GuidedCommand.Type)?.guide ?? CommandGuide()
        arguments = [
            .long("version", nil, "Show the version."),
            ArgumentInfo(
                kind: .option, names: [.init(kind: "long", name: "generate-completion-script")],
                valueName: "shell",
                abstract: "Print the script that completes larder's command lines in a shell.",
                allValues: Shell.allCases.map(\.rawValue)),
            .long("generate-manual", "dir", "Write larder's manual pages into this directory."),
            .help,
        ]
    }

    var positionals: [ArgumentInfo] { arguments.filter { $0.kind == .positional } }
    var options: [ArgumentInfo] { arguments.filter { $0.kind != .positional } }

    /// The options of `--help`, and how many it leaves out.
    var usualOptions: (shown: [ArgumentInfo], left: Int) {
        guard !guide.usual.isEmpty else { return (options, 0) }
        let shown = (guide.usual + ["--help", "--help-all"]).compactMap(option)
        return (shown, options.count - shown.count)
    }

    /// All options in their groups: first those without a title.
    var groups: [(title: String, options: [ArgumentInfo])] {
        var titles = ["Options"]
        for title in options.compactMap(\.sectionTitle) where !titles.contains(title) {
            titles.append(title)
        }
        return titles.map { title in
            (title, options.filter { ($0.sectionTitle ?? "Options") == title })
        }
    }

    func option(_ spelling: String) -> ArgumentInfo? {
        options.first { $0.spellings.contains(spelling) }
    }

    private struct Dump: Decodable {
        struct Command: Decodable {
            let commandName: String
            let abstract: String?
            let discussion: String?
            let arguments: [ArgumentInfo]
        }

        let command: Command
    }
}
