import ArgumentParser
import Foundation
import LarderCore

struct ConfigCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "config", _superCommandName: "larder",
        abstract: "Show the options set in the configuration file and in environment variables.",
        discussion: """
            The file is $LARDER_CONFIG_PATH, else larder.conf in $XDG_CONFIG_HOME or ~/.config. If \
            $LARDER_CONFIG_PATH is empty, no file is read. With --no-config, every command ignores \
            the file.

            Each line sets an option: --quiet, --max-concurrent=8 or --max-concurrent 8. The rest \
            of the line is the value, without quotes. A line applies to every command that has the \
            option. Lines after [prefetch] or [remote push] apply only to that command. Comments \
            are on separate lines and start with #.

            An option on the command line replaces all lines of the same option, even if it can be \
            repeated, and of options that contradict it, such as --wait and --no-wait. Flags \
            without such an opposite can only be undone with --no-config. A section replaces the \
            lines before the first section in the same way. $LARDER_CACHE replaces --cache. Lines \
            override all other variables.

            Prints the lines and variables that have an effect on a command that is run without \
            other options, such as larder prefetch apps.json. Without COMMAND, prints them with \
            the commands that they affect.

            EXAMPLES:
              # Show where the options of a prefetch come from.
              larder config prefetch
            """)

    @Argument(
        help: .common("The command, such as prefetch or remote push. (default: all)", "command"))
    var command: [String] = []

    @Flag(help: "Print one JSON object.") var json = false
    @Flag(help: .rare("Ignore the configuration file.")) var noConfig = false

    func validate() throws { _ = try named() }

    func run() async throws {
        let summary = ConfigSummary(
            ConfigFile.inUse.withLock { $0 }, for: try named(), ProcessInfo.variables)
        print(json ? summary.json.text : summary.text)
    }

    private func named() throws -> NamedCommand? {
        guard !command.isEmpty else { return nil }
        try NamedCommand.program.check(command)
        let (named, rest) = NamedCommand.program.find(command)
        try refuse(
            if: !rest.isEmpty || named.isGroup,
            "\(command.joined(separator: " ").quoted(limit: 40)) is not a single command; "
                + "name one, such as prefetch or remote push.")
        return named
    }
}

struct ConfigSummary {
    private struct Row {
        let option: String
        let value: String?
        var line: Int?
        var variable: String?
        let commands: [String]

        var shown: String? { value.map { OptionsInUse.isShown($0, of: option) ? $0 : "…" } }
        var argument: String { shown.map { "\(option)=\($0)" } ?? option }
        var source: String { line.map { "line \($0)" } ?? "$\(variable ?? "")" }
    }

    /// Options and their environment variables. The first variable that is set is used.
    static let variables = [
        ("--cache", ["LARDER_CACHE"]), ("--proxy", ["http_proxy", "all_proxy", "ALL_PROXY"]),
        ("--proxy", ["https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]),
        ("--no-proxy", ["no_proxy", "NO_PROXY"]),
        ("--ca-cert", ["CURL_CA_BUNDLE", "SSL_CERT_FILE"]),
        ("--remote-endpoint", ["AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"]),
        ("--remote-region", ["AWS_REGION", "AWS_DEFAULT_REGION"]),
        ("--remote-profile", ["AWS_PROFILE"]),
    ]

    private let path: String?
    private let absence: String
    private let command: String?
    private let rows: [Row]

    init(_ file: ConfigFile?, for command: NamedCommand?, _ environment: [String: String]) {
        path = file?.path
        let words = CommandLine.arguments
        let isEmpty = environment[ConfigFile.variable]?.isEmpty == true
        let reason =
            isEmpty
            ? "\(ConfigFile.variable) is empty" : "default: \(ConfigFile.defaultPath(environment))"
        let isExcluded = ConfigFile.withoutExclusion(words).count != words.count
        absence = isExcluded ? ConfigFile.exclusion : reason
        self.command = command?.name
        let commands =
            command.map { [$0] } ?? NamedCommand.program.descendants.filter { !$0.isGroup }
        let effective = commands.map { command in
            (command, file?.effectiveLines(for: command, environment: environment) ?? [])
        }
        var rows = (file?.lines ?? []).map { line in
            Row(
                option: line.name, value: line.value, line: line.number,
                commands: effective.filter { $1.contains(line) }.map(\.0.name))
        }
        for (option, variables) in Self.variables {
            guard let name = variables.first(where: { environment[$0]?.isEmpty == false }),
                !rows.contains(where: { $0.variable == name })
            else { continue }
            let users = effective.filter { command, lines in
                command.options[option] != nil && !lines.contains { $0.name == option }
            }
            rows.append(
                Row(
                    option: option, value: environment[name], variable: name,
                    commands: users.map(\.0.name)))
        }
        self.rows = rows.filter { !$0.commands.isEmpty }
    }

    var text: String {
        func padded(_ texts: [String]) -> [String] {
            let width = texts.map(\.columns).max() ?? 0
            return texts.map { $0 + String(repeating: " ", count: width - $0.columns + 2) }
        }
        var columns = rows.map(\.argument.sanitizedForTerminal)
        if command == nil {
            columns = zip(padded(columns), rows).map { $0 + $1.commands.joined(separator: ", ") }
        }
        let file = (path ?? "none (\(absence))").sanitizedForTerminal
        let lines = zip(padded(rows.map(\.source)), columns).map { $0 + $1 }
        return (["file: \(file)"] + lines).joined(separator: "\n")
    }

    var json: JSONObject {
        let options = rows.map { row -> JSONObject in
            [
                "option": row.option, "value": row.shown?.sanitizedForTerminal, "line": row.line,
                "variable": row.variable, "commands": row.commands,
            ]
        }
        return ["path": path?.sanitizedForTerminal, "command": command, "options": options]
    }
}
