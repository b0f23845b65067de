import ArgumentParser
import Foundation

/// What a command is and takes: the one source of its help, its manual page and its completions.
struct CommandInfo {
    /// The words after `larder`: `verify`, or `remote verify`. Empty for the whole program.
    let name: String
    let abstract: String
    let discussion: String
    let arguments: [ArgumentInfo]
    let guide: CommandGuide

    /// A command as the argument parser describes it.
    init(_ command: NamedCommand) throws {
        let help = Data(command.type._dumpHelp().utf8)
        let dump = try JSONDecoder().decode(Dump.self, from: help).command
        name = command.name
        abstract = dump.abstract ?? ""
        discussion = dump.discussion ?? ""
        guide = (command.type as? any GuidedCommand.Type)?.guide ?? CommandGuide()
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
        name = ""
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

    /// What is typed to run it, without options.
    var line: String { name.isEmpty ? "larder" : "larder \(name)" }

    /// What is typed to run a command, without options.
    static func line(of type: any ParsableCommand.Type) -> String {
        let command = NamedCommand(program: Larder.self).descendants.first { $0.type == type }
        return "larder \(command?.name ?? type._commandName)"
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
            let abstract: String?
            let discussion: String?
            let arguments: [ArgumentInfo]
        }

        let command: Command
    }
}

/// One option, flag or positional argument, as the argument parser describes it.
struct ArgumentInfo: Decodable {
    enum Kind: String, Decodable { case positional, option, flag }

    struct Name: Decodable {
        let kind: String
        let name: String

        var isShort: Bool { kind == "short" }
        /// As it is typed.
        var text: String { (kind == "long" ? "--" : "-") + name }
    }

    let kind: Kind
    var names: [Name]?
    var valueName: String?
    var abstract: String?
    var sectionTitle: String?
    var defaultValue: String?
    /// All values that it takes, if they can be listed.
    var allValues: [String]?
    var isRepeating = false

    /// Its names as they are typed, the short one first: `-q`, `--quiet`. None if it is positional.
    var spellings: [String] {
        let names = names ?? []
        return (names.filter(\.isShort) + names.filter { !$0.isShort }).map(\.text)
    }

    /// The value that it takes, such as `<dir>`; nil if it takes none.
    var value: String? { kind == .flag ? nil : "<\(valueName ?? "value")>" }

    /// How it is written, such as `-q, --quiet`, `--cache <dir>` or `<manifest> ...`.
    var label: String {
        if kind == .positional { return (value ?? "") + (isRepeating ? " ..." : "") }
        return ([spellings.joined(separator: ", ")] + [value].compactMap(\.self))
            .joined(separator: " ")
    }

    /// What it does, with its values and its default, which some descriptions end with.
    var explanation: String {
        var text = abstract ?? ""
        var notes: [String] = []
        if let allValues, !allValues.isEmpty {
            notes.append("values: " + allValues.joined(separator: ", "))
        }
        if let own = text.firstMatch(of: /\ *\((default: .*)\)$/) {
            notes.append(String(own.output.1))
            text.removeSubrange(own.range)
        } else if let defaultValue, !defaultValue.isEmpty {
            notes.append("default: \(defaultValue)")
        }
        return notes.isEmpty ? text : text + " (\(notes.joined(separator: "; ")))"
    }

    /// The first sentence of what it does.
    var summary: String {
        let text = abstract ?? ""
        return text.firstRange(of: ". ").map { String(text[..<$0.lowerBound]) + "." } ?? text
    }
}

extension ArgumentInfo {
    /// An option of the whole program, which the argument parser does not describe.
    static func long(_ name: String, _ value: String? = nil, _ abstract: String) -> ArgumentInfo {
        ArgumentInfo(
            kind: value == nil ? .flag : .option, names: [Name(kind: "long", name: name)],
            valueName: value, abstract: abstract)
    }

    static let help = ArgumentInfo(
        kind: .flag, names: [Name(kind: "short", name: "h"), Name(kind: "long", name: "help")],
        abstract: "Show help.")
    static let helpAll = long("help-all", nil, "Show help with all options.")
}

/// A shell that completes larder's command lines.
enum Shell: String, CaseIterable {
    case bash, zsh, fish
}

/// Environment variables and files that commands read, for the manual.
struct Surroundings {
    let name: String
    let meaning: String
    /// The option that commands have which read it; nil: all do.
    let option: String?

    static let environment = [
        Surroundings(
            name: "LARDER_CACHE", meaning: "The cache directory, if --cache is not given.",
            option: "--cache"),
        Surroundings(
            name: "XDG_CACHE_HOME",
            meaning: "The directory of larder/, if neither --cache nor LARDER_CACHE names another.",
            option: "--cache"),
        Surroundings(
            name: "http_proxy, https_proxy, all_proxy, no_proxy",
            meaning: "The proxies to use, and the hosts that are reached without one.",
            option: "--proxy"),
        Surroundings(
            name: "NETRC", meaning: "The file that --netrc reads instead of ~/.netrc.",
            option: "--netrc"),
        Surroundings(
            name: "COLUMNS", meaning: "The width of help and messages, if not the terminal's.",
            option: nil),
    ]

    static let files = [
        Surroundings(
            name: "~/.cache/larder, ~/Library/Caches/larder",
            meaning: "The cache directory by default, on Linux and on macOS.", option: "--cache"),
        Surroundings(
            name: "~/.netrc", meaning: "User names and passwords, with --netrc.",
            option: "--netrc"),
    ]

    /// Whether it matters to a command.
    func matters(to command: CommandInfo) -> Bool {
        option.map { command.option($0) != nil } ?? true
    }
}

/// What help and manual say of a command besides its options.
struct CommandGuide {
    /// One command line, and what it is for.
    struct Example {
        let purpose: String
        let line: String

        init(_ purpose: String, _ line: String) {
            self.purpose = purpose
            self.line = line
        }
    }

    /// The options of `--help`, in its order; the others are left to `--help-all`. Empty: all are
    /// shown.
    var usual: [String] = []
    var examples: [Example] = []
}

/// A command with a guide.
protocol GuidedCommand: ParsableCommand {
    static var guide: CommandGuide { get }
}
