import Foundation

/// The lines of the file that have an effect. The command line overrides a command's section, which
/// overrides the lines for all commands.
extension ConfigFile {
    /// Pairs of options that a command does not accept together, or of which one disables the
    /// other.
    static let opposites = [
        ("--wait", "--no-wait"), ("--quiet", "--verbose"), ("--json", "--format"),
        ("--netrc", "--netrc-file"), ("--remote-unsigned", "--remote-profile"),
        ("--force", "--revalidate"), ("--offline", "--force"), ("--offline", "--retry-gone"),
        ("--offline", "--retry-failed"), ("--offline", "--revalidate"), ("--offline", "--remote"),
        ("--write-lock", "--retry-failed"), ("--write-lock", "--shard"),
        ("--shard", "--remote-read-only"), ("--manifest", "--sample"),
        ("--manifest", "--max-duration"), ("--sample", "--max-duration"),
    ]

    /// Options that a command accepts only together with one of the listed options. Without this
    /// rule, a line for one command would be an error in another command.
    private static let needs: [(option: String, others: [String])] =
        [
            "--remote-endpoint", "--remote-region", "--remote-profile", "--remote-unsigned",
            "--remote-max-objects", "--remote-read-only", "--remote-fresh-for",
        ].map { ($0, ["--remote"]) }
        + OptionsInUse.reading.keys.sorted().map { ($0, ["--manifest"]) }
        + [
            ("--remote-fresh-for", ["--shard"]), ("--split-host", ["--shard"]),
            ("--client-key", ["--client-cert"]),
            ("--by", ["--max-size", "--max-age", "--max-count", "--min-free"]),
        ]

    /// Returns the lines that apply to a command, in the order of the file. A section replaces the
    /// other lines of its options.
    func lines(for command: NamedCommand) -> [Line] {
        let options = command.options
        let own = lines.filter { $0.section == command.name }
        let replaced = Self.replaced(by: Set(own.map(\.name)))
        let shared = lines.filter { line in
            line.section == nil && options[line.name] != nil && !replaced.contains(line.name)
        }
        return shared + own
    }

    /// Returns the lines to add to a command line.
    func lines(
        for command: NamedCommand, besides words: [String],
        environment: [String: String] = ProcessInfo.processInfo.environment
    ) -> [Line] {
        let options = command.options
        let given = command.optionNames(in: words)
        var replaced = Self.replaced(by: given)
        // A variable that is set for one run must not be ignored.
        if environment["LARDER_CACHE"]?.isEmpty == false { replaced.insert("--cache") }
        let lines = lines(for: command).filter { !replaced.contains($0.name) }
        let names = given.union(lines.map(\.name))
        return lines.filter { line in
            Self.needs.allSatisfy { option, others in
                option != line.name || !others.contains { options[$0] != nil }
                    || others.contains { names.contains($0) }
            }
        }
    }

    /// Returns the file's `--cache` for a command line without this option, for completions.
    /// Returns nil if the file is not valid.
    static func cache(for words: [String]) -> String? {
        guard withoutExclusion(words).count == words.count else { return nil }
        let (command, rest) = NamedCommand.program.find(words)
        let file = try? load(for: command)
        return file?.lines(for: command, besides: rest).last { $0.name == "--cache" }?.value
    }

    private static func replaced(by names: Set<String>) -> Set<String> {
        opposites.reduce(into: names) { replaced, pair in
            if names.contains(pair.0) { replaced.insert(pair.1) }
            if names.contains(pair.1) { replaced.insert(pair.0) }
        }
    }

    /// Adds the line numbers of the file's options that the parser's message names. Otherwise,
    /// users would look for these options in their command line.
    func locating(_ message: String) -> String {
        let end = message.firstRange(of: "\nUsage:")?.lowerBound ?? message.endIndex
        let words = message[..<end].split { !$0.isLetter && $0 != "-" }
        let notes = used.filter { words.contains(Substring($0.name)) }
            .map { "\n\(path):\($0.number) has \($0.name)." }
        return message[..<end] + notes.joined() + message[end...]
    }

    /// Returns the arguments of this run that a suggested command would not get from the file,
    /// because they are from another command's section.
    func arguments(missingFrom words: String) -> [String] {
        let words = words.split(separator: " ").map(String.init)
        let command = NamedCommand.program.find(words).command
        return used.filter { $0.section != nil && $0.section != command.name }.map(\.argument)
    }
}
