import ArgumentParser
import Foundation
import Synchronization

/// A command and its full name: `verify`, or `remote verify`.
struct NamedCommand {
    /// A cache, because the parser takes a millisecond to describe a command.
    private static let described = Mutex<[String: [String: NamedOption]]>([:])

    let name: String
    let type: any ParsableCommand.Type
    var isGroup: Bool { !type.configuration.subcommands.isEmpty }
    var word: String { type._commandName }
    var line: String { name.isEmpty ? "larder" : "larder \(name)" }

    private var subcommands: some Collection<NamedCommand> {
        // Lazy, because the texts of a command's configuration take time.
        type.configuration.subcommands.lazy.map { command in
            let word = command._commandName
            return NamedCommand(name: name.isEmpty ? word : "\(name) \(word)", type: command)
        }
    }

    var descendants: [NamedCommand] { subcommands.flatMap { [$0] + $0.descendants } }

    var options: [String: NamedOption] {
        if let known = Self.described.withLock({ $0[name] }) { return known }
        let description = Data(type._dumpHelp().utf8)
        let dump = try? JSONDecoder().decode(DumpedHelp.self, from: description)
        // The parser describes --version only for the whole program.
        var options = ["--version": NamedOption(name: "--version", takesValue: false)]
        for argument in dump?.command.arguments ?? [] {
            let names = (argument.names ?? []).map { ($0.name.count == 1 ? "-" : "--") + $0.name }
            guard let long = names.first(where: { $0.hasPrefix("--") }) else { continue }
            for name in names {
                options[name] = NamedOption(
                    name: long, takesValue: argument.kind == "option",
                    isRepeating: argument.isRepeating)
            }
        }
        Self.described.withLock { $0[name] = options }
        return options
    }

    func givenOptions(
        in words: [String]
    ) -> (options: [(name: String, value: String?)], unknown: String?) {
        let known = options
        var given: [(name: String, value: String?)] = []
        var words = words.prefix { $0 != "--" }
        while let word = words.popFirst() {
            guard word.hasPrefix("-"), word != "-" else { continue }
            let head = String(word.prefix { $0 != "=" })
            // An argument such as `-qj` combines several short options.
            let parts = head.hasPrefix("--") ? [head] : head.dropFirst().map { "-\($0)" }
            for (place, part) in parts.enumerated() {
                guard let option = known[part] else { return (given, head) }
                given.append((option.name, nil))
                guard option.takesValue else { continue }
                let isLast = place == parts.count - 1
                // The parser accepts `-j16`, but not `-qj16`.
                guard isLast || place == 0 else { return (given, head) }
                let joined = String(word.dropFirst(isLast ? head.count + 1 : 2))
                given[given.count - 1].value =
                    isLast && head == word ? words.popFirst() ?? "" : joined
                break
            }
        }
        return (given, nil)
    }

    /// Adds the parent commands to a parser's message, and advice for an unexpected argument.
    func message(for error: any Error, in words: [String]) -> String {
        var text = type.fullMessage(for: error)
        // If a number is out of range, the parser gives no reason.
        if let match = text.prefixMatch(
            of: /Error: The value '([0-9]{19,})' is invalid for '[^']*'/)
        {
            text.insert(contentsOf: ": too large", at: match.range.upperBound)
        }
        let unexpected = text.prefixMatch(
            of: /Error: (?:Unexpected argument '(?<word>.*)'|[0-9]+ unexpected arguments)/)
        return text.replacing(
            "\nUsage: \(line)",
            with: (unexpected.map { advice(on: words, after: $0.word) } ?? "") + "\nUsage: \(line)"
        ).replacing("\n  See '\(word) ", with: "\n  See '\(line) ")
    }

    private func advice(on words: [String], after unexpected: Substring?) -> String {
        for place in words.indices.dropLast() where Double(words[place]) != nil {
            let unit = words[place + 1]
            let both = words[place] + unit
            let joined = words[..<place] + [both] + words[(place + 2)...]
            if unit.first?.isLetter == true, (try? type.parseAsRoot(Array(joined))) != nil {
                return ": write \(both) without a space"
            }
        }
        let names = options
        let path = unexpected.map(String.init) ?? ""
        if let manifest = ["--manifest", "--keep"].first(where: { names[$0] != nil }),
            path.isDirectory != true
        {
            return ": write a manifest after \(manifest), and a cache after --cache"
        }
        guard names["--cache"] != nil, !path.isEmpty, !LocalManifests.isURL(path) else { return "" }
        return ": for a cache, write --cache \(path.shellQuoted)"
    }

    func find(_ words: [String]) -> (command: NamedCommand, rest: [String]) {
        guard let next = subcommands.first(where: { $0.word == words.first }) else {
            return (self, words)
        }
        return next.find(Array(words.dropFirst()))
    }

    /// Adds `remote` for older scripts, which call `push` and `pull` without it.
    static func withGroup(_ words: [String]) -> [String] {
        ["push", "pull"].contains(words.first) ? ["remote"] + words : words
    }

    /// Throws if the words name an unknown command, or if an option precedes its command.
    func check(_ words: [String]) throws {
        let (group, rest) = find(Array(words.drop { $0 == "help" }))
        guard group.isGroup, let word = rest.first else { return }
        guard !word.hasPrefix("-") else {
            if !Self.isForProgram(word) { try group.checkOption(word, before: rest) }
            return
        }
        try refuse(if: word == "rehearse", "'rehearse' is now a separate program: larder-rehearse")
        let lead = group.name.isEmpty ? "" : group.name + " "
        let hint =
            descendants.first { $0.word == word }.map { ". Did you mean '\($0.name)'?" }
            ?? NearestName.hint(for: word, among: group.subcommands.map(\.word), lead: lead)
        throw ValidationError("Unknown command \((lead + word).quoted(limit: 40))\(hint)")
    }

    static func isForProgram(_ argument: String) -> Bool {
        argument == "--version" || argument.hasPrefix("--help")
            || argument.hasPrefix("-") && argument.contains("h")
                && argument.dropFirst().allSatisfy { "hnqv".contains($0) }
            || argument.hasPrefix("--generate-completion-script")
            || argument == "---completion" || argument == "--experimental-dump-help"
    }

    /// Throws if the option belongs to a command in this group. The message omits a secret value.
    private func checkOption(_ word: String, before words: [String]) throws {
        let option = String(word.prefix { $0 != "=" })
        let names = Set(subcommands.map(\.word))
        let (named, _) = find(Array(words.drop { !names.contains($0) }))
        let candidates = named.isGroup ? named.descendants : [named]
        guard let command = candidates.first(where: { $0.options[option] != nil }) else { return }
        var words = words.dropFirst().prefix(1).filter { !names.contains($0) }
        if option != word { words = [String(word.dropFirst(option.count + 1))] }
        let value = command.options[option]?.takesValue == true ? words.first : nil
        let written = value.map { OptionsInUse.shown($0, of: option) } ?? option
        throw ValidationError(
            "'\(option)' belongs after the command, for example: \(command.line) \(written)")
    }

    /// The parser's own message could report another error first, or quote a password.
    func messageOnUnknownOption(in words: [String]) -> String? {
        guard let name = givenOptions(in: words).unknown else { return nil }
        let namesake = Self.program.descendants.first {
            $0.word == word && $0.name != self.name && $0.options[name] != nil
        }
        let hint =
            if self.name == "plan", name == "--remote" || name.hasPrefix("--remote-") {
                ": plan does not use a remote"
            } else if let namesake {
                ": it is an option of 'larder \(namesake.name)'"
            } else {
                NearestName.hint(forOption: name, among: options.keys)
            }
        return """
            Error: Unknown option \(name.quoted(limit: 40))\(hint)
            Usage: \(Self.program.type.usageString(for: type))
              See '\(line) --help' for more information.
            """
    }

    /// A command group without a subcommand prints its help.
    static func help(requestedBy arguments: [String]) -> String? {
        let words = arguments.prefix { $0 != "--" }
        let isHelpCommand = words.first == "help"
        let names = words.dropFirst(isHelpCommand ? 1 : 0).filter { !$0.hasPrefix("-") }
        let (command, rest) = program.find(names)
        guard
            isHelpCommand || words.contains(where: ["-h", "--help", "--help-all"].contains)
                || command.isGroup && arguments == names
        else { return nil }
        return command.isGroup && !rest.isEmpty ? nil : command.help
    }

    private var help: String {
        let width = Terminal.textWidth(of: STDOUT_FILENO)
        // The argument parser reserves 26 columns for option names.
        let columns = max(width, 40)
        let root = Self.program.type
        let long = root.helpMessage(for: type, includeHidden: true, columns: columns)
        // The usage in the long help does not list each option.
        let usage = /(?s)USAGE: .*?\n\n/
        var text = root.helpMessage(for: type, columns: columns)
            .replacing(usage, with: long.firstMatch(of: usage)?.output ?? "", maxReplacements: 1)
        let isWhole = text == long
        while text.hasSuffix("\n") { text.removeLast() }
        if !isWhole { text += "\n\nMore options: \(line) --help-all" }
        return text.wrapped(to: width, hanging: 2)
    }
}

struct NamedOption {
    let name: String
    let takesValue: Bool
    var isRepeating = false
}

private struct DumpedHelp: Decodable {
    struct Command: Decodable { let arguments: [Argument]? }
    struct Argument: Decodable {
        let kind: String
        let names: [Name]?
        let isRepeating: Bool
    }
    struct Name: Decodable { let name: String }

    let command: Command
}

enum NearestName {
    static func hint(forOption name: String, among known: some Sequence<String>) -> String {
        let long = known.filter { $0.hasPrefix("--") }.map { String($0.dropFirst(2)) }
        return hint(for: String(name.drop { $0 == "-" }), among: long, lead: "--")
    }

    /// Suggests the nearest name with at most one mistake per three letters, or else the only known
    /// name that contains `name`.
    static func hint(for name: String, among known: [String], lead: String = "") -> String {
        let word = Array(name.lowercased().utf8)
        // A comparison takes quadratic time.
        guard word.count <= 40 else { return "" }
        // A mistake is a wrong, extra, missing or moved letter.
        let near = known.sorted().map { name -> (String, Int) in
            let changes = Array(name.utf8).difference(from: word)
            return (name, max(changes.insertions.count, changes.removals.count))
        }.filter { $1 <= max(1, min($0.utf8.count, word.count) / 3) }.min { $0.1 < $1.1 }
        let holders = known.filter { word.count >= 3 && $0.contains(name.lowercased()) }
        let nearest = near?.0 ?? (holders.count == 1 ? holders[0] : nil)
        return nearest.map { ". Did you mean '\(lead)\($0)'?" } ?? ""
    }
}
