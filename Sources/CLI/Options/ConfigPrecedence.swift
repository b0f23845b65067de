import ArgumentParser
import Foundation

/// Options on the command line override the section of a command, which overrides the lines for all
/// commands.
extension ConfigFile {
    /// Pairs of options that contradict each other, although the parser accepts both together.
    static let opposites = [
        "--netrc": "--netrc-file", "--netrc-file": "--netrc",
        "--force": "--revalidate", "--revalidate": "--force",
    ]

    /// Sets ``used``. Skips lines that a later option contradicts, or that need a missing option.
    mutating func parse(
        _ words: [String], of command: NamedCommand,
        environment: [String: String] = ProcessInfo.variables
    ) -> Result<any ParsableCommand, any Error> {
        used = lines(for: command, besides: words, environment: environment)
        while true {
            let arguments = used.map(\.argument) + words
            let result = Result { try command.type.parseAsRoot(arguments) }
            guard case .failure(let error) = result,
                let name = unusable(because: command.type.fullMessage(for: error))
            else { return result }
            used.removeAll { $0.name == name }
        }
    }

    /// Returns the option whose lines must be dropped. For `--a needs --b`, this is `--a`.
    /// For `--a and --b cannot be combined`, it is the one whose last line is earlier.
    private func unusable(because message: String) -> String? {
        let text = message.prefix { $0 != "\n" }
        let names =
            if text.contains(" cannot be combined") {
                text.matches(of: /--[a-z-]+/).map(\.output)
            } else {
                text.prefixMatch(of: /Error: (--[a-z-]+) needs .*--/).map { [$0.output.1] } ?? []
            }
        return names.compactMap { name in used.last { $0.name == name } }
            .min { $0.number < $1.number }?.name
    }

    /// Returns the lines that have an effect if no other options are given.
    func effectiveLines(for command: NamedCommand, environment: [String: String]) -> [Line] {
        var file = self
        var lines = lines(for: command, besides: [], environment: environment)
        if lines.isEmpty { return [] }
        // Some commands require an argument, and others accept none.
        for words in [[], ["x"]] {
            if case .success = file.parse(words, of: command, environment: environment) {
                lines = file.used
                break
            }
        }
        let options = command.options
        return lines.enumerated().filter { index, line in
            options[line.name]?.isRepeating == true
                || !lines[(index + 1)...].contains { $0.name == line.name }
        }.map(\.element)
    }

    /// Returns a command's lines. A line replaces earlier lines with the opposite option.
    func lines(for command: NamedCommand) -> [Line] {
        let options = command.options
        let own = lines.filter { $0.section == command.name }
        let replaced = Self.replaced(by: Set(own.map(\.name)))
        let shared = lines.filter { line in
            line.section == nil && options[line.name] != nil && !replaced.contains(line.name)
        }
        let all = shared + own
        return all.enumerated().filter { place, line in
            !all[place...].contains { $0.name == Self.opposites[line.name] }
        }.map(\.element)
    }

    func lines(
        for command: NamedCommand, besides words: [String],
        environment: [String: String] = ProcessInfo.variables
    ) -> [Line] {
        let options = command.options
        let given = Set(command.givenOptions(in: words).options.map(\.name))
        var replaced = Self.replaced(by: given)
        // `LARDER_CACHE` may be set for one run, so it overrides the file.
        if environment["LARDER_CACHE"]?.isEmpty == false { replaced.insert("--cache") }
        let lines = lines(for: command).filter { !replaced.contains($0.name) }
        let readsManifest =
            options["--manifest"] == nil || given.contains("--manifest")
            || lines.contains { $0.name == "--manifest" }
        return readsManifest ? lines : lines.filter { !OptionsInUse.reading.contains($0.name) }
    }

    static func cache(for words: [String]) -> String? {
        guard withoutExclusion(words).count == words.count else { return nil }
        let (command, rest) = NamedCommand.program.find(words)
        let file = try? load(for: command)
        return file?.lines(for: command, besides: rest).last { $0.name == "--cache" }?.value
    }

    private static func replaced(by names: Set<String>) -> Set<String> {
        names.union(names.compactMap { opposites[$0] })
    }

    func locating(_ message: String) -> String {
        let end = message.firstRange(of: "\nUsage:")?.lowerBound ?? message.endIndex
        let words = message[..<end].split { !$0.isLetter && $0 != "-" }
        let notes = used.filter { words.contains(Substring($0.name)) }
            .map { "\n\(path):\($0.number) has \($0.name)." }
        return message[..<end] + notes.joined() + message[end...]
    }
}
