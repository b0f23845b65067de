import ArgumentParser
import LarderCore
import LarderManifest

/// Which of several names a misspelled one may stand for.
enum NearestName {
    /// What a message ends with, such as `. Did you mean 'evict'?`; nothing if no name is near.
    ///
    /// - Parameter lead: what all names begin with, and `name` and `known` do not have.
    static func hint(for name: String, among known: [String], lead: String = "") -> String {
        suggestion(for: name, among: known).map { ". Did you mean '\(lead)\($0)'?" } ?? ""
    }

    /// The nearest within a mistake for every three letters, else the only one that has the word in
    /// it, as `fetch` is in `prefetch`.
    private static func suggestion(for name: String, among known: [String]) -> String? {
        let word = Array(name.lowercased().utf8)
        // Longer than any name, and bounded for what is quadratic.
        guard word.count <= 40 else { return nil }
        let near = known.map { ($0, mistakes(in: word, for: Array($0.utf8))) }
            .filter { $1 <= max(1, min($0.utf8.count, word.count) / 3) }
            .min { $0.1 < $1.1 }
        if let near { return near.0 }
        let holders = known.filter { word.count >= 3 && $0.contains(name.lowercased()) }
        return holders.count == 1 ? holders[0] : nil
    }

    /// How many letters are wrong, too many, missing or swapped with the next: the optimal string
    /// alignment distance.
    private static func mistakes(in word: [UInt8], for name: [UInt8]) -> Int {
        var (last, row) = ([Int](), Array(0...name.count))
        for (i, letter) in word.enumerated() {
            var next = [i + 1]
            for (j, wanted) in name.enumerated() {
                var least = min(row[j] + (letter == wanted ? 0 : 1), row[j + 1] + 1, next[j] + 1)
                if i > 0, j > 0, letter == name[j - 1], word[i - 1] == wanted {
                    least = min(least, last[j - 1] + 1)
                }
                next.append(least)
            }
            (last, row) = (row, next)
        }
        return row[name.count]
    }
}

extension String {
    /// The ``ResourceKey`` that a user means: of an http or https URL, in any spelling and with or
    /// without credentials, that URL's; as `list --json` has it, `key:NAME` or `ni:…`; anything
    /// else is a manifest's key.
    static func spelled(_ text: String) -> String {
        if let url = try? HTTPURL(text) { return url.key }
        if let name = ResourceKey.name(in: text) { return ResourceKey.named(name.removingUserinfo) }
        return ResourceKey.isSpelledOut(text) ? text : ResourceKey.named(text.removingUserinfo)
    }
}

/// An option that a command does not have.
///
/// The argument parser tells of one only after every value was checked, and until then takes the
/// option's value for a manifest.
struct UnknownOption: Error {
    private let command: NamedCommand
    private let name: String
    private let hint: String

    /// Nil if the command has all of them.
    ///
    /// - Parameter words: the words after the command's name.
    init?(in words: [String], of command: NamedCommand, _ program: NamedCommand) throws {
        let info = try CommandInfo(command)
        // Flags in one word, such as `-qv`, are left to the argument parser.
        guard let name = CommandLineState(info, words).unknown,
            name.hasPrefix("--") || name.utf8.count == 2
        else { return nil }
        self.command = command
        self.name = name
        hint =
            if command.type == PlanCommand.self, name == "--remote" || name.hasPrefix("--remote-") {
                ": plan asks no remote"
            } else if let other = try Self.namesake(of: command, with: name, in: program) {
                ": it belongs to 'larder \(other.name)'"
            } else {
                Self.suggestion(for: name, among: info.options.flatMap(\.spellings))
            }
    }

    /// Returns another command whose name ends with the same word and that has the option.
    private static func namesake(
        of command: NamedCommand, with option: String, in program: NamedCommand
    ) throws -> NamedCommand? {
        try program.descendants.first { other in
            try other.word == command.word && other.name != command.name
                && CommandInfo(other).option(option) != nil
        }
    }

    private static func suggestion(for name: String, among known: [String]) -> String {
        let lead = "--"
        guard name.hasPrefix(lead) else { return "" }
        let long = known.filter { $0.hasPrefix(lead) }.map { String($0.dropFirst(lead.count)) }
        return NearestName.hint(
            for: String(name.dropFirst(lead.count)), among: long, lead: lead)
    }

    /// Nothing of the option's value, which may be a password.
    func message(of program: any ParsableCommand.Type) -> String {
        """
        Error: Unknown option \(name.quoted(limit: 40))\(hint)
        Usage: \(program.usageString(for: command.type))
          See '\(program._commandName) \(command.name) --help' for more information.
        """
    }
}

/// Keeps a manifest of `ftp:` icons from being a complaint for each: one is made of each scheme,
/// and the summary has their number.
struct UnsupportedSchemes {
    private var schemes: Set<String> = []

    /// Whether to complain of what is wrong with an entry.
    mutating func isNew(_ code: String?, _ message: String?) -> Bool {
        guard let message, code == EntryError.Code.unsupportedScheme.rawValue else { return true }
        // Of each line the same: "line 7: icon has the scheme …".
        let scheme = message.drop { $0 != "'" }
        // A list of nothing but different schemes is not to fill the memory.
        return schemes.count < 32 && schemes.insert(String(scheme)).inserted
    }
}
